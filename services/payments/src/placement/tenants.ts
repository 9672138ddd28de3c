import type { QueryPool, ReadAgain } from '@trestle/database/pools.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import { LRUCache } from 'lru-cache'
import { sqlFragment } from '../access/access-query.ts'
import { tagOf } from '../merchants/merchant.ts'

// In a distributed database, each statement on rows of a merchant names the merchant, so that it runs on the merchant's node. The
// service first looks up the merchant of an id. Between the lookup and the statement, the rows of the merchant may move.

interface TenantRow {
  readonly merchant_id: string
  readonly is_alias: boolean
}

const ofIdQuery = prepare('find_tenant', (p: { id: string }) => {
  const id = { id: sql`${p.id}::text` }
  return sql<TenantRow>`
    SELECT o.merchant_id, true AS is_alias FROM (${sqlFragment('owner_by_alias.sql', id)}) o
    UNION ALL
    SELECT o.merchant_id, false FROM (${sqlFragment('owner_by_tag.sql', id)}) o`
})

const ofKeyQuery = prepare(
  'find_tenant_of_key',
  (p: { key: string }) => sql<{ id: string }>`
    SELECT m.id FROM ${sql.table('merchants')} m WHERE m.key = ${p.key}::uuid`,
)

const hasAliasesQuery = prepare(
  'has_aliases',
  (_: object) => sql<{ found: boolean }>`SELECT EXISTS (SELECT FROM ${sql.table('id_aliases')}) AS found`,
)

const TENANTS_MAX = 100_000
const ALIASES_UNKNOWN_MS = 1_000
const KEY_LENGTH = 36

/**
 * Returns a function that finds the merchant of an id or of a merchant's public key. It returns an empty string if there is none.
 * The tag of an id and the key of a merchant never change, so found names are cached. Unknown names are not cached, because a
 * merchant with that name may be created later. An alias takes precedence over the tag. So the function checks for aliases on
 * every call, unless the database had no aliases within the last second.
 */
export function createTenantLookup(now: () => Date): (read: QueryPool, name: string) => Promise<string> {
  const known = new LRUCache<string, string>({ max: TENANTS_MAX })
  let freeOfAliasesUntil = 0
  const hasAliases = async (read: QueryPool): Promise<boolean> => {
    if (now().getTime() < freeOfAliasesUntil) return false
    const { found } = await read.one(hasAliasesQuery, {})
    if (!found) freeOfAliasesUntil = now().getTime() + ALIASES_UNKNOWN_MS
    return found
  }
  const findByKey = async (read: QueryPool, key: string): Promise<string> => {
    const tenant = known.get(key) ?? (await read.first(ofKeyQuery, { key }))?.id
    if (tenant !== undefined) known.set(key, tenant)
    return tenant ?? ''
  }
  return async (read, name) => {
    if (name.length === KEY_LENGTH) return findByKey(read, name)
    const tag = tagOf(name)
    const remembered = known.get(tag)
    if (remembered !== undefined && !(await hasAliases(read))) return remembered
    const rows = await read.all(ofIdQuery, { id: name })
    const ofTag = rows.find(({ is_alias }) => !is_alias)
    if (ofTag) known.set(tag, ofTag.merchant_id)
    return (rows.find(({ is_alias }) => is_alias) ?? ofTag)?.merchant_id ?? ''
  }
}

/**
 * How to repeat a read that finds nothing of a merchant (reference: Distributed databases). A read that judges access then has
 * the verdict `not-found`. Any other read has no row.
 */
export const readAgain: ReadAgain = {
  waitForRebalance: prepare(
    'wait_for_rebalance',
    (p: { tenant: string }) => sql`SELECT ${sql.table('wait_for_rebalance')}(${p.tenant})`,
  ),
  isMissing: ([row]) => row === undefined || ('verdict' in row && row.verdict === 'not-found'),
}
