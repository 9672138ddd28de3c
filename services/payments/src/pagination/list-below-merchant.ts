import type { Lane, Lanes } from '@trestle/database/lanes.ts'
import type { PreparedQuery } from '@trestle/database/prepare.ts'
import { type RawBuilder, sql } from 'kysely'
import { prepareForCaller, verdictColumns } from '../access/access-query.ts'
import type { Credentials } from '../access/caller.ts'
import type { AccessResult, Verdict } from '../access/verdict.ts'
import type { PageBounds } from './cursor.ts'
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
  readonly columns: RawBuilder<unknown>
  readonly join?: RawBuilder<unknown>
  /** How many entries belong to a row, as an expression. A list with entries is read in pieces. */
  readonly entries?: RawBuilder<unknown>
}

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
  { table, columns, join = sql``, entries }: BelowSource,
  condition: (p: Input) => RawBuilder<unknown> = () => sql`true`,
): BelowList<Input, Columns> {
  const query = (suffix: string, order: RawBuilder<unknown>) =>
    prepareForCaller(`${name}${suffix}`, ({ fromCaller, joinMembership }, p: Input) => {
      const page = sql`
      SELECT * FROM ${sql.table(table)} r
      WHERE r.merchant_id = a.merchant_id AND r.id > ${p.above} AND r.id < ${p.below}
        AND (${p.test}::boolean IS NULL OR m.test = ${p.test}::boolean) AND ${condition(p)}
      ORDER BY r.id ${order} LIMIT ${p.limit}`
      return sql<AccessRow<Columns>>`
    SELECT CASE
        WHEN c.identity_id IS NULL THEN 'unauthorized'
        WHEN ${p.merchantId}::text IS NULL THEN 'done'
        WHEN m.id IS NULL THEN 'not-found'
        WHEN a.merchant_id IS NULL THEN 'forbidden'
        ELSE 'done'
      END AS verdict, c.identity_id, ${entries ? sql`r.found` : sql`NULL::int AS found`}, ${columns}
    ${fromCaller}
    LEFT JOIN ${sql.table('merchants')} m ON m.id = ${p.merchantId}
    ${joinMembership(sql`m.id`)}
    LEFT JOIN LATERAL (${entries ? firstPiece(page, order, entries) : page}) r ON true
    ${join}
    ORDER BY r.id ${order}`
    })
  return { 'newest-first': query('', sql`DESC`), 'oldest-first': query('_reversed', sql`ASC`) }
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
  { table, columns, join = sql`` }: BelowSource,
): PreparedQuery<Credentials & { readonly id: string }, AccessRow<Columns>> {
  return prepareForCaller(
    name,
    ({ fromCaller, joinMembership }, p) => sql<AccessRow<Columns>>`
    SELECT ${verdictColumns(sql`r.id`)}, ${columns}
    ${fromCaller}
    LEFT JOIN LATERAL (
      SELECT f.* FROM ${sql.table('owners')}(${p.id}) o
      JOIN ${sql.table(table)} f ON f.merchant_id = o.merchant_id AND f.id = ${p.id}
    ) r ON true
    ${joinMembership(sql`r.merchant_id`)}
    ${join}`,
  )
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
