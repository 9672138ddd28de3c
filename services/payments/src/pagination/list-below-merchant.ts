import type { Lane, Lanes } from '@trestle/database/lanes.ts'
import type { PreparedQuery } from '@trestle/database/prepare.ts'
import { type RawBuilder, sql } from 'kysely'
import { type Access, prepareForCaller, verdictColumns } from '../access/access-query.ts'
import type { Credentials } from '../access/caller.ts'
import type { AccessResult, Verdict } from '../access/verdict.ts'
import type { PageBounds } from './page-query.ts'
import { PIECE, type Piece } from './pieces.ts'

/** The columns that every row below a merchant has. */
interface BelowColumns {
  readonly id: string
}

/** A verdict beside the columns of a row, which are null where there is none. */
export type AccessRow<Columns extends BelowColumns> = {
  readonly verdict: Verdict
  readonly identity_id: string | null
  /** How many rows the page has, where the list is read in pieces. */
  readonly found?: number | null
} & (Columns | { readonly id: null })

/**
 * Which page of the rows of one merchant. `merchantId` is null when the request names no merchant; `limit` is 0 when
 * only access is checked.
 */
export interface BelowListInput extends Credentials, Omit<PageBounds, 'order'> {
  readonly merchantId: string | null
  /** Only rows of test merchants, or only of live ones. */
  readonly test: boolean | undefined
}

/** The table, whose row is called `r`, and what is selected of the row and of its joins. */
export interface BelowSource {
  readonly table: string
  readonly columns: OfMerchant
  readonly join?: OfMerchant
  /** How many entries belong to a row, as an expression. A list with entries is read in pieces. */
  readonly entries?: RawBuilder<unknown>
}

/** A part of a query that reads tables below a merchant: those are bound to it by the expression `merchantId`. */
export type OfMerchant = (merchantId: RawBuilder<unknown>) => RawBuilder<unknown>

/** The query of a list for each order. */
export interface BelowList<Input extends BelowListInput, Columns extends BelowColumns> {
  readonly 'newest-first': PreparedQuery<Input, AccessRow<Columns>>
  readonly 'oldest-first': PreparedQuery<Input, AccessRow<Columns>>
}

/**
 * Declares a list of rows below a merchant, which its members may read. One statement judges access and reads. The
 * primary key bounds its work.
 * @param condition what else must hold of a row
 */
export function listBelowMerchant<Input extends BelowListInput, Columns extends BelowColumns>(
  name: string,
  { table, columns, join = () => sql``, entries }: BelowSource,
  condition: (p: Input) => RawBuilder<unknown> = () => sql`true`,
): BelowList<Input, Columns> {
  const query = (suffix: string, order: RawBuilder<unknown>) => {
    const build = ({ fromCaller, joinMembership }: Access, p: Input, owner: ListOwner) => {
      const page = sql`
      SELECT * FROM ${sql.table(table)} r
      WHERE ${owner.isOwn} AND r.id > ${p.above} AND r.id < ${p.below}
        AND (${p.test}::boolean IS NULL OR m.test = ${p.test}::boolean) AND ${condition(p)}
      ORDER BY r.id ${order} LIMIT ${p.limit}`
      return sql<AccessRow<Columns>>`
    SELECT CASE
        WHEN c.identity_id IS NULL THEN 'unauthorized'
        WHEN ${p.merchantId}::text IS NULL THEN 'done'
        WHEN m.id IS NULL THEN 'not-found'
        WHEN a.merchant_id IS NULL THEN 'forbidden'
        ELSE 'done'
      END AS verdict, c.identity_id, ${entries ? sql`r.found` : sql`NULL::int AS found`}, ${columns(owner.id)}
    ${fromCaller}
    LEFT JOIN ${sql.table('merchants')} m ON m.id = ${p.merchantId}
    ${joinMembership(sql`m.id`)}
    LEFT JOIN LATERAL (${entries ? firstPiece(page, order, entries) : page}) r ON true
    ${join(owner.id)}
    ORDER BY r.id ${order}`
    }
    const member = { id: sql`r.merchant_id`, isOwn: sql`r.merchant_id = a.merchant_id` }
    return prepareForCaller<Input, AccessRow<Columns>>(`${name}${suffix}`, (access, p) => build(access, p, member), {
      ownerOf: ({ merchantId }) => merchantId ?? '',
      build: (access, p, id) =>
        build(access, p, { id, isOwn: sql`r.merchant_id = ${id} AND a.merchant_id IS NOT NULL` }),
    })
  }
  return { 'newest-first': query('', sql`DESC`), 'oldest-first': query('_reversed', sql`ASC`) }
}

/** The merchant of a list, as an expression, and the condition that binds the row `r` to it for members only. */
interface ListOwner {
  readonly id: RawBuilder<unknown>
  readonly isOwn: RawBuilder<unknown>
}

/**
 * The first rows of a page whose entries are few enough together, and the first row in any case. `found` counts the
 * rows of the whole page.
 */
function firstPiece(
  page: RawBuilder<unknown>,
  order: RawBuilder<unknown>,
  entries: RawBuilder<unknown>,
): RawBuilder<unknown> {
  return sql`
      SELECT * FROM (
        SELECT r.*, (count(*) OVER ())::int AS found,
          sum(${entries}) OVER (ORDER BY r.id ${order} ROWS UNBOUNDED PRECEDING) - ${entries} AS entries_before
        FROM (${page}) r
      ) r
      WHERE r.entries_before < ${sql.lit(PIECE.entries)}`
}

/** Declares the query for one row below a merchant by its id, which the members of the merchant may read. */
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
      build: (access, p, owner) => build(access, rowOf(table, owner, p.id), owner),
    },
  )
}

/**
 * Selects the row of a table below a merchant with an id, whichever merchant it belongs to (the SQL function `owners`). The id is
 * one parameter: each takes time to send and to read.
 */
export function rowBelow(table: string, id: string): RawBuilder<unknown> {
  return sql`SELECT f.* FROM (SELECT ${id}::text AS id) p CROSS JOIN LATERAL (
      SELECT m.id AS merchant_id FROM ${sql.table('merchants')} m WHERE m.tag = right(p.id, 8)
      UNION ALL
      SELECT a.merchant_id FROM ${sql.table('id_aliases')} a WHERE a.id = p.id
    ) o JOIN ${sql.table(table)} f ON f.merchant_id = o.merchant_id AND f.id = p.id`
}

/** Selects the row of a merchant with an id. */
export function rowOf(table: string, merchantId: RawBuilder<unknown>, id: string): RawBuilder<unknown> {
  return sql`SELECT f.* FROM ${sql.table(table)} f WHERE f.merchant_id = ${merchantId} AND f.id = ${id}`
}

/** Columns of a row: `r`, or an expression that is a row, such as `(f.payout)`. @param names `id, currency AS own`, … */
export function columnsOf(row: string, names: string): RawBuilder<unknown> {
  return sql.raw(names.replaceAll(/(^|, )/g, `$1${row}.`))
}

/** Reads a page, with the verdict on its access. */
export async function readBelow<Input extends BelowListInput, Columns extends BelowColumns>(
  lanes: Lanes,
  list: BelowList<Input, Columns>,
  input: Input & Pick<PageBounds, 'order'>,
): Promise<AccessResult & Piece<Columns>> {
  const read = (lane: Lane, limit = input.limit) => lane.all(list[input.order], { ...input, limit })
  if (lanes.lagging === lanes.read) return toPiece(await read(lanes.read))
  // The rows may come from a standby that lags behind. Access may not: there a key that was revoked a moment ago would
  // still be good.
  const [access, found] = (await Promise.all([read(lanes.read, 0), read(lanes.lagging)])).map(toPiece<Columns>)
  if (access?.verdict === 'done' && found?.verdict === 'done') return { ...found, identityId: access.identityId }
  // The standby does not know the key or the merchant yet, because they are new.
  return toPiece(await read(lanes.read))
}

function toPiece<Columns extends BelowColumns>(rows: readonly AccessRow<Columns>[]) {
  const { verdict = 'unauthorized', identity_id = null, found } = rows[0] ?? {}
  const piece = rows.filter(isFound)
  return { verdict, identityId: identity_id, rows: piece, isCut: piece.length < (found ?? 0) }
}

function isFound<Columns extends BelowColumns>(row: AccessRow<Columns>): row is AccessRow<Columns> & Columns {
  return row.id !== null
}
