import type { Pools } from '@trestle/database/pools.ts'
import { prepareOnCoordinator } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import { prepareForCaller } from '../access/access-query.ts'
import type { Credentials } from '../access/caller.ts'
import type { AccessResult, Verdict } from '../access/verdict.ts'
import type { Db, Trx } from '../database.ts'
import { hashToken } from '../members/invitation.ts'
import { insertOperatorAudit } from '../operators/operator-audit-repository.ts'
import { type ListOfFound, listOfFound, type SearchPage } from '../pagination/list-of-found.ts'
import { ID_FORM } from '../pagination/page-query.ts'
import type { Identity, StoredKey } from './app.ts'

interface NewApp extends StoredKey {
  readonly name: string | undefined
}

const createQuery = prepareOnCoordinator(
  'create_app',
  (p: NewApp) => sql<{ id: string }>`
    SELECT ${sql.table('create_app')}(${p.keyMac}, ${p.hint}, ${p.name}) AS id`,
)

/** Creates an app with its first key, for a command: the service's role may not. Resolves to the id of the app. */
export async function callCreateApp(pools: Pools, app: NewApp): Promise<string> {
  return (await pools.write.one(createQuery, app)).id
}

interface IdentityRow {
  verdict: Verdict
  id: string | null
  name: string | null
  email: string | null
  created: Date | null
}

const identityQuery = prepareForCaller(
  'read_identity',
  ({ fromCaller }) => sql<IdentityRow>`
    SELECT CASE WHEN c.identity_id IS NULL THEN 'unauthorized' ELSE 'done' END AS verdict, c.identity_id AS id,
      coalesce(a.name, u.name) AS name, u.email, coalesce(a.created, u.created) AS created
    ${fromCaller}
    LEFT JOIN ${sql.table('apps')} a ON a.id = c.identity_id
    LEFT JOIN ${sql.table('users')} u ON u.id = c.identity_id`,
)

/** Returns the identity of the caller. For an unknown caller, returns the verdict `unauthorized` and no identity. */
export async function readIdentity(
  pools: Pools,
  caller: Credentials,
): Promise<AccessResult & { readonly identity: Identity | undefined }> {
  const { verdict, id, name, email, created } = await pools.read.one(identityQuery, caller)
  return {
    verdict,
    identityId: id,
    identity: id === null || created === null ? undefined : { id, name, email, created },
  }
}

/** Stores an invitation code that registers one app within 14 days. Only the digest of the code is stored. */
export async function insertAppInvitation(
  db: Db,
  { code, note }: { readonly code: string; readonly note: string | null },
): Promise<{ readonly code: string; readonly expires: Date }> {
  return db.transaction().execute(async (trx) => {
    const { expires } = await trx
      .insertInto('app_invitations')
      .values({ code_hash: hashToken(code), note, created: sql`now()`, expires: sql`now() + interval '14 days'` })
      .returning('expires')
      .executeTakeFirstOrThrow()
    await insertOperatorAudit(trx, { action: 'app.invited', payload: { note, expires } })
    return { code, expires }
  })
}

/** Hides the key hint of an app without a name from other members, or shows it. @throws Error if the app is unknown */
export async function updateAppHidden(
  db: Db,
  { id, hidden }: { readonly id: string; readonly hidden: boolean },
): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const { numUpdatedRows } = await trx.updateTable('apps').set({ hidden }).where('id', '=', id).executeTakeFirst()
    if (numUpdatedRows === 0n) throw new Error(`there is no app ${id}`)
    await insertOperatorAudit(trx, { action: hidden ? 'app.hidden' : 'app.shown', payload: { appId: id } })
  })
}

/** Revokes all keys of an app, for a command. Resolves to their number. @throws Error if the app is unknown */
export async function updateAllKeysRevoked(db: Db, id: string): Promise<number> {
  return db.transaction().execute(async (trx) => {
    const revoked = await updateKeysRevoked(trx, id)
    if (revoked === undefined) throw new Error(`there is no app ${id}`)
    await insertOperatorAudit(trx, { action: 'app.keys-revoked', payload: { appId: id } })
    return revoked
  })
}

/**
 * Revokes all keys of an app. Resolves to the number of keys that it revoked, or `undefined` if the app does not exist.
 *
 * Lock order: the app, then its keys. The SQL functions `create_key` and `revoke_key` also lock the app first. This prevents
 * deadlocks, and no key can be created while this transaction runs.
 */
export async function updateKeysRevoked(trx: Trx, id: string): Promise<number | undefined> {
  const app = await trx.selectFrom('apps').select('id').where('id', '=', id).forUpdate().executeTakeFirst()
  if (!app) return undefined
  const { numUpdatedRows } = await trx
    .updateTable('app_keys')
    .set({ revoked: sql`now()` })
    .where('app_id', '=', id)
    .where('revoked', 'is', null)
    .executeTakeFirst()
  return Number(numUpdatedRows)
}

const BATCH_ROWS = 1_000

/**
 * Deletes apps that belong to no merchant and whose keys were not used for `days` days. An app that becomes a member at the same
 * time is locked and is not deleted. Resolves to the number of deleted apps.
 */
export async function deleteUnusedApps(db: Db, days: number): Promise<number> {
  let total = 0
  for (;;) {
    const { seen, deleted } = await deleteBatchOfApps(db, days)
    total += deleted
    if (seen < BATCH_ROWS || deleted === 0) return total
  }
}

/**
 * Lock order: the apps, then their keys. Calls that create or revoke a key also lock the app first, so deadlocks cannot occur.
 */
async function deleteBatchOfApps(db: Db, days: number) {
  return db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ id: string }>`
      SELECT a.id FROM ${sql.table('apps')} a
      WHERE a.created < now() - make_interval(days => ${days}::int) AND ${belongsToNoMerchant()} AND NOT EXISTS (
        SELECT FROM ${sql.table('app_keys')} k
        WHERE k.app_id = a.id AND greatest(k.created, k.last_used) >= now() - make_interval(days => ${days}::int)
      ) LIMIT ${sql.lit(BATCH_ROWS)} FOR UPDATE SKIP LOCKED`.execute(trx)
    // Check again under the lock. Another request may have made the app a member before the lock was granted.
    const ids = await sql<{ id: string }>`
      SELECT a.id FROM ${sql.table('apps')} a WHERE a.id = ANY (${rows.map(({ id }) => id)}::text[]) AND ${belongsToNoMerchant()}`
      .execute(trx)
      .then((free) => free.rows.map(({ id }) => id))
    await sql`DELETE FROM ${sql.table('app_keys')} WHERE app_id = ANY (${ids}::text[])`.execute(trx)
    await sql`DELETE FROM ${sql.table('apps')} WHERE id = ANY (${ids}::text[])`.execute(trx)
    return { seen: rows.length, deleted: ids.length }
  })
}

function belongsToNoMerchant() {
  return sql`NOT EXISTS (SELECT FROM ${sql.table('merchant_apps')} m WHERE m.app_id = a.id)`
}

/** An app that a client registers. `codeHash` is the digest of the invitation code. It is `null` if registration needs no code */
interface RegisteringApp extends NewApp {
  readonly codeHash: Buffer | null
}

/** `closed`: an operator has closed registration. `not-invited`: the code is not valid. `done`: the app is created. */
type Registered =
  | { readonly verdict: 'done'; readonly id: string }
  | { readonly verdict: 'closed' | 'not-invited'; readonly id: null }

const registerQuery = prepareOnCoordinator(
  'register_app',
  (p: RegisteringApp) => sql<Registered>`
    SELECT * FROM ${sql.table('register_app')}(${p.codeHash}, ${p.keyMac}, ${p.hint}, ${p.name})`,
)

/** Creates an app with its first key for a client, unless registration is closed. The invitation code cannot be used again. */
export function callRegisterApp(pools: Pools, app: RegisteringApp): Promise<Registered> {
  return pools.write.one(registerQuery, app)
}

const closedQuery = prepareOnCoordinator(
  'registration_is_closed',
  () => sql<{ is_closed: boolean }>`SELECT r.is_closed FROM ${sql.table('registration')} r`,
)

export async function isRegistrationClosed({ read }: Pools): Promise<boolean> {
  return (await read.one(closedQuery, {})).is_closed
}

/** Closes registration or opens it again. Registration that the settings close stays closed. */
export async function callChangeRegistration(trx: Trx, isClosed: boolean): Promise<void> {
  await sql`SELECT ${sql.table('change_registration')}(${isClosed})`.execute(trx)
}

interface KeyForOperator {
  readonly id: string
  /** The last four characters of the key. */
  readonly hint: string
  /** `null` if the key is not restricted. */
  readonly scopes: readonly string[] | null
  readonly created: string
  readonly expires: string | null
  readonly lastUsed: string | null
  readonly revoked: string | null
}

export interface AppForOperator {
  readonly id: string
  readonly name: string | null
  readonly created: Date
  /** The newest 25 keys, newest first, including revoked keys. */
  readonly keys: readonly KeyForOperator[]
}

interface AppSearch extends SearchPage {
  /** An id, the beginning of a name (case-insensitive), or the last four characters of a key. `undefined` selects all apps. */
  readonly search: string | undefined
}

const KEYS_MAX = 25

export const appsForOperator: ListOfFound<AppSearch, AppForOperator> = listOfFound('page_of_apps', {
  table: 'apps',
  row: 'a',
  columns: sql`a.id, a.name, a.created, coalesce((
      SELECT json_agg(k ORDER BY k.id DESC) FROM (
        SELECT k.id, k.hint, k.scopes, k.created, k.expires, k.last_used AS "lastUsed", k.revoked
        FROM ${sql.table('app_keys')} k WHERE k.app_id = a.id ORDER BY k.id DESC LIMIT ${sql.lit(KEYS_MAX)}
      ) k
    ), '[]') AS keys`,
  isId: (search) => ID_FORM.test(search),
  hasId: (p) => sql`a.id = lower(${p.search}::text)`,
  hasValue: (p) => sql`a.id IN (SELECT k.app_id FROM ${sql.table('app_keys')} k WHERE k.hint = ${p.search}::text)`,
  beginnings: ['name'],
})
