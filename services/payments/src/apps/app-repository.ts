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

/** Makes an app with its first key, for a command: the login of the service may not. Resolves to the id of the app. */
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

/** The identity of the caller; for an unknown caller, `unauthorized` without an identity. */
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

/** Makes a code that registers one app within 14 days. Only its digest is stored. */
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

/** Hides the key hint of an app without a name from other members, or shows it. @throws Error for an unknown app */
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

/** Revokes all keys of an app, for a command. Resolves to how many it revoked. @throws Error for an unknown app */
export async function updateAllKeysRevoked(db: Db, id: string): Promise<number> {
  return db.transaction().execute(async (trx) => {
    const revoked = await updateKeysRevoked(trx, id)
    if (revoked === undefined) throw new Error(`there is no app ${id}`)
    await insertOperatorAudit(trx, { action: 'app.keys-revoked', payload: { appId: id } })
    return revoked
  })
}

/**
 * Revokes all keys of an app. Resolves to how many were not revoked before; undefined when there is no such app.
 *
 * Lock order: the app, its keys. The functions create_key and revoke_key lock the app first too, so that two calls never wait
 * for each other, and no key is made meanwhile.
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
 * Deletes apps that look after no merchant and whose keys were not used for so many days. An app that becomes a member
 * meanwhile is locked, and stays. Resolves to how many were deleted.
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
 * Lock order: the apps, their keys. A call that makes or revokes a key locks the app first too, so that two
 * calls never wait for each other.
 */
async function deleteBatchOfApps(db: Db, days: number) {
  return db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ id: string }>`
      SELECT a.id FROM ${sql.table('apps')} a
      WHERE a.created < now() - make_interval(days => ${days}::int) AND ${belongsToNoMerchant()} AND NOT EXISTS (
        SELECT FROM ${sql.table('app_keys')} k
        WHERE k.app_id = a.id AND greatest(k.created, k.last_used) >= now() - make_interval(days => ${days}::int)
      ) LIMIT ${sql.lit(BATCH_ROWS)} FOR UPDATE SKIP LOCKED`.execute(trx)
    // Look again under the lock: another request may have made the app a member before the lock was granted.
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

/** An app that a client wants. `codeHash`: the digest of its code; null where nobody needs one. */
interface RegisteringApp extends NewApp {
  readonly codeHash: Buffer | null
}

/** `closed`: an operator has closed registration. `not-invited`: the code is not good. `done`: the app is made. */
type Registered =
  | { readonly verdict: 'done'; readonly id: string }
  | { readonly verdict: 'closed' | 'not-invited'; readonly id: null }

const registerQuery = prepareOnCoordinator(
  'register_app',
  (p: RegisteringApp) => sql<Registered>`
    SELECT * FROM ${sql.table('register_app')}(${p.codeHash}, ${p.keyMac}, ${p.hint}, ${p.name})`,
)

/** Makes an app with its first key for a client, unless registration is closed, and uses the code up. */
export function callRegisterApp(pools: Pools, app: RegisteringApp): Promise<Registered> {
  return pools.write.one(registerQuery, app)
}

const closedQuery = prepareOnCoordinator(
  'registration_is_closed',
  () => sql<{ is_closed: boolean }>`SELECT r.is_closed FROM ${sql.table('registration')} r`,
)

/** Whether an operator has closed registration. */
export async function isRegistrationClosed({ read }: Pools): Promise<boolean> {
  return (await read.one(closedQuery, {})).is_closed
}

/** Closes registration, or opens it again. Registration that the settings close stays closed. */
export async function callChangeRegistration(trx: Trx, isClosed: boolean): Promise<void> {
  await sql`SELECT ${sql.table('change_registration')}(${isClosed})`.execute(trx)
}

interface KeyForOperator {
  readonly id: string
  /** The last four characters of the key. */
  readonly hint: string
  /** Null: not restricted. */
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
  /** The newest 25, newest first, the revoked ones too. */
  readonly keys: readonly KeyForOperator[]
}

interface AppSearch extends SearchPage {
  /** An id, how a name begins in any case, or the last four characters of a key. Undefined: all apps. */
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
