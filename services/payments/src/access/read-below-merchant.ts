import type { PreparedQuery } from '@trestle/database/prepare.ts'
import { type RawBuilder, sql } from 'kysely'
import { type Access, prepareForCaller, sqlFragment, verdictColumns } from './access-query.ts'
import type { Credentials } from './caller.ts'
import type { Verdict } from './verdict.ts'

/** The columns that every row of a merchant's table has. */
export interface BelowColumns {
  readonly id: string
}

/** A verdict with the columns of a row. The columns are `null` if no row was found. */
export type AccessRow<Columns extends BelowColumns> = {
  readonly verdict: Verdict
  readonly identity_id: string | null
} & (Columns | { readonly id: null })

/** The table, whose row has the alias `r`, and the columns that the query selects from the row and its joins. */
export interface BelowSource {
  readonly table: string
  readonly columns: OfMerchant
  readonly join?: OfMerchant
}

/** A part of a query that reads the tables of a merchant. It must filter them by the expression `merchantId`. */
export type OfMerchant = (merchantId: RawBuilder<unknown>) => RawBuilder<unknown>

/** Declares a query that finds one row of a merchant by its id. Members of the merchant may read the row. */
export function findBelowMerchant<Columns extends BelowColumns>(
  name: string,
  { table, columns, join = () => sql`` }: BelowSource,
): PreparedQuery<Credentials & { readonly id: string }, AccessRow<Columns>> {
  const build = (
    { fromCaller, joinMembership }: Access,
    row: RawBuilder<unknown>,
    merchantId = sql`r.merchant_id`,
  ) => sql<AccessRow<Columns>>`
    SELECT ${verdictColumns(sql`r.id`)}, ${columns(merchantId)}
    ${fromCaller}
    LEFT JOIN LATERAL (${row}) r ON true
    ${joinMembership(sql`r.merchant_id`)}
    ${join(merchantId)}`
  return prepareForCaller<Credentials & { readonly id: string }, AccessRow<Columns>>(
    name,
    (access, p) => build(access, rowBelow(table, p.id)),
    {
      ownerOf: ({ id }, find) => find(id),
      build: (access, p, tenant) => build(access, rowOf(table, tenant, p.id), tenant),
    },
  )
}

/**
 * Selects the row with an id from a table, for any merchant. The id is sent as one parameter, because each parameter takes time
 * to send and to read.
 */
export function rowBelow(table: string, id: string): RawBuilder<unknown> {
  return sql`SELECT f.* FROM (SELECT ${id}::text AS id) p
      CROSS JOIN LATERAL (${sqlFragment('owners.sql', { id: sql`p.id` })}) o
      JOIN ${sql.table(table)} f ON f.merchant_id = o.merchant_id AND f.id = p.id`
}

export function rowOf(table: string, merchantId: RawBuilder<unknown>, id: string): RawBuilder<unknown> {
  return sql`SELECT f.* FROM ${sql.table(table)} f WHERE f.merchant_id = ${merchantId} AND f.id = ${id}`
}
