import type { Pools } from '@trestle/database/pools.ts'
import { prepare, prepareOnCoordinator, routeByTenant } from '@trestle/database/prepare.ts'
import { type RawBuilder, sql } from 'kysely'
import { fromApp, sqlFragment } from '../access/access-query.ts'
import { type AccessResult, type Judged, splitVerdict, type Verdict } from '../access/verdict.ts'
import type { Db } from '../database.ts'
import type { PageBounds } from '../pagination/page-query.ts'
import type { AppKey } from './app.ts'

/** The fields of the new key are `null` if the call only checks access. */
export interface CreateKeyCall {
  readonly keyMac: Buffer
  readonly newMac: Buffer | null
  readonly hint: string | null
}

interface CreatedRow {
  verdict: Verdict | 'key-spent'
  identity_id: string | null
  id: string | null
  created: Date | null
}

const createQuery = prepareOnCoordinator(
  'create_key',
  (p: CreateKeyCall) => sql<CreatedRow>`
    SELECT verdict, identity_id, id, created FROM ${sql.table('create_key')}(${p.keyMac}, ${p.newMac}, ${p.hint})`,
)

/** The key with this MAC, either new or from an earlier call. `key-spent`: the key was revoked after the earlier call. */
export type AddedKey =
  | { readonly verdict: 'added'; readonly key: Pick<AppKey, 'id' | 'created'> }
  | { readonly verdict: 'key-spent' }

/** Adds a key to the calling app, or finds the key that already has this MAC. */
export async function callCreateKey(pools: Pools, input: CreateKeyCall): Promise<Judged<AddedKey>> {
  const row = await pools.write.one(createQuery, input)
  const [verdict] = splitVerdict(row.verdict, ['key-spent'])
  return { verdict, identityId: row.identity_id, outcome: toAddedKey(row) }
}

function toAddedKey({ verdict, id, created }: CreatedRow): AddedKey | undefined {
  if (verdict === 'key-spent') return { verdict }
  return id === null || created === null ? undefined : { verdict: 'added', key: { id, created } }
}

const revokeQuery = prepareOnCoordinator(
  'revoke_key',
  (p: { keyMac: Buffer; keyId: string | null }) =>
    sql<{
      verdict: Verdict
      identity_id: string | null
      is_last: boolean | null
    }>`SELECT verdict, identity_id, is_last FROM ${sql.table('revoke_key')}(${p.keyMac}, ${p.keyId})`,
)

/** Revokes a key of the calling app, unless it is the last good key. `keyId` is `null` if the call only checks access. */
export async function callRevokeKey(
  pools: Pools,
  input: { readonly keyMac: Buffer; readonly keyId: string | null },
): Promise<AccessResult & { readonly isLast: boolean }> {
  const { verdict, identity_id, is_last } = await pools.write.one(revokeQuery, input)
  return { verdict, identityId: identity_id, isLast: is_last ?? false }
}

interface KeyRow {
  verdict: Verdict
  identity_id: string | null
  id: string | null
  hint: string
  scopes: string[] | null
  expires: Date | null
  last_used: Date | null
  created: Date
}

const listQueries = {
  'newest-first': listQuery('list_keys', sql`DESC`),
  'oldest-first': listQuery('list_keys_reversed', sql`ASC`),
}

function listQuery(name: string, order: ReturnType<typeof sql>) {
  return prepare(
    name,
    (p: ListKeysInput) => sql<KeyRow>`
    SELECT CASE WHEN c.identity_id IS NULL THEN 'unauthorized' ELSE 'done' END AS verdict, c.identity_id,
      k.id, k.hint, k.scopes, k.expires, k.last_used, k.created
    ${fromApp(p.keyMac)}
    LEFT JOIN LATERAL (
      SELECT * FROM ${sql.table('app_keys')} k
      WHERE k.app_id = c.identity_id AND k.id > ${p.above} AND k.id < ${p.below} AND ${isGoodKey()}
      ORDER BY k.id ${order} LIMIT ${p.limit}
    ) k ON true
    ORDER BY k.id ${order}`,
  )
}

/** `limit` is 0 if the call only checks access. */
export interface ListKeysInput extends Omit<PageBounds, 'order'> {
  readonly keyMac: Buffer
}

/** Returns a page of the good keys of the calling app: at most `input.limit` keys, sorted by id in `order`. */
export async function listKeys(
  pools: Pools,
  input: ListKeysInput,
  order: PageBounds['order'],
): Promise<AccessResult & { readonly keys: readonly AppKey[] }> {
  const rows = await pools.read.all(listQueries[order], input)
  const { verdict = 'unauthorized', identity_id = null } = rows[0] ?? {}
  return { verdict, identityId: identity_id, keys: rows.flatMap((row) => toAppKey(row) ?? []) }
}

function toAppKey({ id, hint, scopes, expires, last_used, created }: KeyRow): AppKey | undefined {
  return id === null ? undefined : { id, hint, scopes, expires, lastUsed: last_used, created }
}

/**
 * Returns the MAC of a good key of an app, in 32 bytes. An operator uses this key to act for the app. Returns `undefined` if the
 * app is unknown or has no good key.
 */
export async function findAppKey(db: Db, appId: string): Promise<Buffer | undefined> {
  const { rows } = await sql<{ mac: Buffer }>`
    SELECT k.mac FROM ${sql.table('app_keys')} k WHERE k.app_id = ${appId} AND ${isGoodKey()} LIMIT 1`.execute(db)
  return rows[0]?.mac
}

/**
 * Returns the MAC of a good key of any app of a merchant, in 32 bytes. An operator uses this key to act for the merchant. Returns
 * `undefined` if the merchant is unknown or none of its apps has a good key.
 */
export async function findMemberKey(db: Db, merchantId: string): Promise<Buffer | undefined> {
  const { rows } = await sql<{ mac: Buffer }>`
    SELECT k.mac FROM ${sql.table('merchant_apps')} a JOIN ${sql.table('app_keys')} k ON k.app_id = a.app_id
    WHERE a.merchant_id = ${merchantId} AND ${isGoodKey()} LIMIT 1`.execute(db)
  return rows[0]?.mac
}

function isGoodKey(): RawBuilder<unknown> {
  return sqlFragment('is_good_key.sql', { key: sql`k` })
}

/** The MACs of the keys that were accepted since the last write. Each key of the map is the MAC as a string. */
export type UsedKeys = Map<string, Buffer>

/** The maximum number of keys until the next write. The use of other keys is not stored, to limit the memory. */
const USED_KEYS_MAX = 10_000
const WRITE_INTERVAL_MS = 60_000

const usedQuery = routeByTenant(
  prepare(
    'write_key_usage',
    (p: { macs: readonly Buffer[] }) => sql`
    UPDATE ${sql.table('app_keys')} SET last_used = now() WHERE mac = ANY (ARRAY(
      SELECT mac FROM ${sql.table('app_keys')} WHERE mac = ANY (${p.macs}::bytea[]) FOR NO KEY UPDATE SKIP LOCKED
    ))`,
  ),
  // A distributed database stores the keys on each node. No single statement could skip the same locked rows on all nodes.
  () => '',
  (p) => sql`UPDATE ${sql.table('app_keys')} SET last_used = now() WHERE mac = ANY (${p.macs}::bytea[])`,
)

/** Remembers that a request with a key was accepted. A later write stores the use, so that no request waits for it. */
export function rememberKeyUse(usedKeys: UsedKeys, keyMac: Buffer): void {
  if (usedKeys.size < USED_KEYS_MAX) usedKeys.set(keyMac.toString('latin1'), keyMac)
}

/**
 * Writes when the remembered keys were last used, and forgets them. No lock order is necessary, because the statement skips
 * locked keys. A locked key is being revoked, or another process is writing its use.
 */
export async function updateUsedKeys(pools: Pools, usedKeys: UsedKeys): Promise<void> {
  const macs = [...usedKeys.values()]
  usedKeys.clear()
  if (macs.length > 0) await pools.write.all(usedQuery, { macs })
}

/** Writes the remembered keys every minute. The returned function stops this after a last write. */
export function startKeyUseWrites(
  pools: Pools,
  usedKeys: UsedKeys,
  onError: (error: unknown) => void,
): () => Promise<void> {
  const write = () => updateUsedKeys(pools, usedKeys).catch(onError)
  const timer = setInterval(() => void write(), WRITE_INTERVAL_MS).unref()
  return async () => {
    clearInterval(timer)
    await write()
  }
}
