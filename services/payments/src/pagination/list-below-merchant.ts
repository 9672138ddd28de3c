import type { Pools, QueryPool } from '@trestle/database/pools.ts'
import type { PreparedQuery } from '@trestle/database/prepare.ts'
import { type RawBuilder, sql } from 'kysely'
import { type Access, prepareForCaller, verdictOn } from '../access/access-query.ts'
import type { Credentials } from '../access/caller.ts'
import type { AccessRow, BelowColumns, BelowSource } from '../access/read-below-merchant.ts'
import type { AccessResult } from '../access/verdict.ts'
import { CHUNK, type Chunk, type PageBounds } from './page-query.ts'

/** A row of a list. `found` is the number of rows of the page if the list is read in chunks. */
type ListRow<Columns extends BelowColumns> = AccessRow<Columns> & { readonly found?: number | null }

/**
 * A page of the rows of one merchant. `merchantId` is `null` if the request names no merchant. `limit` is 0 if only access is
 * checked.
 */
export interface BelowListInput extends Credentials, Omit<PageBounds, 'order'> {
  readonly merchantId: string | null
  /** `true` selects only rows of test merchants, `false` only those of live ones, and `undefined` both. */
  readonly test: boolean | undefined
}

/** `entries` is an SQL expression for the number of entries of a row. A list with entries is read in chunks. */
interface ListSource extends BelowSource {
  readonly entries?: RawBuilder<unknown>
}

export interface BelowList<Input extends BelowListInput, Columns extends BelowColumns> {
  readonly 'newest-first': PreparedQuery<Input, ListRow<Columns>>
  readonly 'oldest-first': PreparedQuery<Input, ListRow<Columns>>
}

/**
 * Declares a list of a merchant's rows that its members may read. One statement checks access and reads the rows. The primary key
 * bounds its work.
 * @param condition a further condition on a row
 */
export function listBelowMerchant<Input extends BelowListInput, Columns extends BelowColumns>(
  name: string,
  { table, columns, join = () => sql``, entries }: ListSource,
  condition: (p: Input) => RawBuilder<unknown> = () => sql`true`,
): BelowList<Input, Columns> {
  const query = (suffix: string, order: RawBuilder<unknown>) => {
    const build = ({ fromCaller, joinMembership }: Access, p: Input, tenant: ListTenant) => {
      const page = sql`
      SELECT * FROM ${sql.table(table)} r
      WHERE ${tenant.isOwn} AND r.id > ${p.above} AND r.id < ${p.below}
        AND (${p.test}::boolean IS NULL OR m.test = ${p.test}::boolean) AND ${condition(p)}
      ORDER BY r.id ${order} LIMIT ${p.limit}`
      return sql<ListRow<Columns>>`
    SELECT CASE
        WHEN c.identity_id IS NOT NULL AND ${p.merchantId}::text IS NULL THEN 'done'
        ELSE ${verdictOn(sql`m.id`)}
      END AS verdict, c.identity_id, ${entries ? sql`r.found` : sql`NULL::int AS found`}, ${columns(tenant.id)}
    ${fromCaller}
    LEFT JOIN ${sql.table('merchants')} m ON m.id = ${p.merchantId}
    ${joinMembership(sql`m.id`)}
    LEFT JOIN LATERAL (${entries ? firstChunk(page, order, entries) : page}) r ON true
    ${join(tenant.id)}
    ORDER BY r.id ${order}`
    }
    const member = { id: sql`r.merchant_id`, isOwn: sql`r.merchant_id = a.merchant_id` }
    return prepareForCaller<Input, ListRow<Columns>>(`${name}${suffix}`, (access, p) => build(access, p, member), {
      ownerOf: ({ merchantId }) => merchantId ?? '',
      build: (access, p, id) =>
        build(access, p, { id, isOwn: sql`r.merchant_id = ${id} AND a.merchant_id IS NOT NULL` }),
    })
  }
  return { 'newest-first': query('', sql`DESC`), 'oldest-first': query('_reversed', sql`ASC`) }
}

/** The merchant of a list as an SQL expression, and the condition that ties the row `r` to this merchant for members only. */
interface ListTenant {
  readonly id: RawBuilder<unknown>
  readonly isOwn: RawBuilder<unknown>
}

/**
 * Selects the first rows of a page until their entries reach the limit of a chunk, and always at least one row. `found` counts
 * the rows of the whole page.
 */
function firstChunk(
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
      WHERE r.entries_before < ${sql.lit(CHUNK.entries)}`
}

/** Reads a page, with the verdict on its access. */
export async function readBelow<Input extends BelowListInput, Columns extends BelowColumns>(
  pools: Pools,
  list: BelowList<Input, Columns>,
  input: Input & Pick<PageBounds, 'order'>,
): Promise<AccessResult & Chunk<Columns>> {
  const read = (pool: QueryPool, limit = input.limit) => pool.all(list[input.order], { ...input, limit })
  if (pools.lagging === pools.read) return toChunk(await read(pools.read))
  // The rows may come from a standby that lags behind. Access must be checked on the primary, because a key that was just revoked
  // may still be valid on the standby.
  const [access, found] = (await Promise.all([read(pools.read, 0), read(pools.lagging)])).map(toChunk<Columns>)
  if (access?.verdict === 'done' && found?.verdict === 'done') return { ...found, identityId: access.identityId }
  // The standby may not have a new key or merchant yet. Read from the primary instead.
  return toChunk(await read(pools.read))
}

function toChunk<Columns extends BelowColumns>(rows: readonly ListRow<Columns>[]) {
  const { verdict = 'unauthorized', identity_id = null, found } = rows[0] ?? {}
  const chunk = rows.filter(isFound)
  return { verdict, identityId: identity_id, rows: chunk, isCut: chunk.length < (found ?? 0) }
}

function isFound<Columns extends BelowColumns>(row: ListRow<Columns>): row is ListRow<Columns> & Columns {
  return row.id !== null
}
