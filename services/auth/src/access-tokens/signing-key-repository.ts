import { sql } from 'kysely'
import type { Db, Trx } from '../database.ts'
import {
  decryptSecret,
  type EncryptedSecret,
  type Encryption,
  type EncryptionKeys,
  encryptSecret,
} from '../secrets/encrypted-secret.ts'
import {
  importSigningKey,
  PrivateJwk,
  type PublicJwk,
  SIGNING_KEY_STATES,
  type SigningAlgorithm,
  type SigningKey,
  type SigningKeyState,
  type SigningKeyStatus,
} from './signing-key.ts'

/** A key that signs or verifies, as it is stored in the table. Its private part is encrypted. */
export interface StoredSigningKey {
  readonly kid: string
  readonly state: SigningKeyState
  /** The private JWK as JSON, encrypted under `kid`. */
  readonly encrypted: EncryptedSecret
}

const stillVerifies = sql<boolean>`coalesce(retire_at > clock_timestamp(), true)`

/**
 * Lists the keys that currently sign or verify, oldest first, at most 100. If there are more, omits the newest keys that have
 * never signed, because no token needs them.
 */
export async function listSigningKeys(db: Db): Promise<StoredSigningKey[]> {
  const needed = db
    .selectFrom('signing_keys')
    .select(['kid', 'state', 'private_sealed', 'created_at'])
    .where(stillVerifies)
    .orderBy(sql`array_position(ARRAY['active', 'retired'], state) NULLS LAST`)
    .orderBy('created_at')
    .orderBy('kid')
    .limit(100)
  const rows = await db.selectFrom(needed.as('needed')).selectAll().orderBy('created_at').orderBy('kid').execute()
  return rows.map(({ kid, state, private_sealed: encrypted }) => ({ kid, state: toState(state), encrypted }))
}

/** Lists every key that has ever existed, newest first. */
export async function listSigningKeyStatus(db: Db): Promise<SigningKeyStatus[]> {
  const rows = await selectStatus(db).orderBy('created_at', 'desc').orderBy('kid').limit(1_000).execute()
  return rows.map(toStatus)
}

/** Finds a key in any state, including keys that no longer verify. Returns `undefined` if no key ever had the kid. */
export async function findSigningKeyStatus(db: Db, kid: string): Promise<SigningKeyStatus | undefined> {
  const row = await selectStatus(db).where('kid', '=', kid).executeTakeFirst()
  return row && toStatus(row)
}

/** Returns the current state of a key that the caller has just found or inserted. @throws Error if the key does not exist */
export async function getSigningKeyStatus(trx: Trx, kid: string): Promise<SigningKeyStatus> {
  return toStatus(await selectStatus(trx).where('kid', '=', kid).executeTakeFirstOrThrow())
}

/** Locks the keys for a change. Processes change keys one after the other. Readers do not wait. */
export async function lockSigningKeys(trx: Trx): Promise<void> {
  await sql`LOCK TABLE ${sql.table('signing_keys')} IN SHARE ROW EXCLUSIVE MODE`.execute(trx)
}

interface NewSigningKey {
  readonly kid: string
  readonly alg: SigningAlgorithm
  readonly encrypted: EncryptedSecret
  readonly publicJwk: PublicJwk | null
}

/** Inserts a key. Returns `false` if a key in any state has the kid, because a kid is never reused. */
export async function insertSigningKey(
  trx: Trx,
  { kid, alg, encrypted, publicJwk }: NewSigningKey,
  state: 'next' | 'active',
): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('signing_keys')
    .values({ kid, alg, state, private_sealed: encrypted, public_jwk: publicJwk })
    .onConflict((conflict) => conflict.column('kid').doNothing())
    .executeTakeFirst()
  return (numInsertedOrUpdatedRows ?? 0n) > 0n
}

/** Returns the kid of the active key, or `undefined` if `JWT_SECRET` signs. */
export async function findActiveKid(trx: Trx): Promise<string | undefined> {
  const row = await trx.selectFrom('signing_keys').select('kid').where('state', '=', 'active').executeTakeFirst()
  return row?.kid
}

/** Makes a key active. The caller must ensure that no other key is active. */
export async function updateKeyToActive(trx: Trx, kid: string): Promise<void> {
  await trx.updateTable('signing_keys').set({ state: 'active', retire_at: null }).where('kid', '=', kid).execute()
}

/** Other processes sign with the old key until they read the table again and finish their requests. */
const LAG_SECONDS = 60

/** The number of seconds for which a key must still verify after it stops signing. @param jwt the lifetime of access tokens */
export function retiredVerifySeconds({ lifetimeSeconds }: { readonly lifetimeSeconds: number }): number {
  return lifetimeSeconds + LAG_SECONDS
}

/** Retires a key after `verifySeconds`. @returns when it stops verifying (RFC 3339) @throws Error if it does not exist */
export async function updateKeyToRetired(trx: Trx, kid: string, verifySeconds: number): Promise<string> {
  const { until } = await trx
    .updateTable('signing_keys')
    .set({ state: 'retired', retire_at: sql`clock_timestamp() + make_interval(secs => ${verifySeconds})` })
    .where('kid', '=', kid)
    .returning(sql<string>`retire_at`.as('until'))
    .executeTakeFirstOrThrow()
  return until
}

function selectStatus(db: Db) {
  const ageSeconds = sql<number>`extract(epoch FROM clock_timestamp() - created_at)::float8`
  return db
    .selectFrom('signing_keys')
    .select(['kid', 'alg', 'state', 'created_at as createdAt', 'retire_at as retireAt', 'public_jwk as publicJwk'])
    .select([stillVerifies.as('verifies'), ageSeconds.as('ageSeconds')])
}

function toStatus(row: Omit<SigningKeyStatus, 'state'> & { readonly state: string }): SigningKeyStatus {
  return { ...row, state: toState(row.state) }
}

function toState(text: string): SigningKeyState {
  const state = SIGNING_KEY_STATES.find((known) => known === text)
  if (state === undefined) throw new Error(`the table holds a signing key in the state "${text}"`)
  return state
}

/** Encrypts a private key for its row. @throws Error if the key cannot sign */
export function encryptSigningKey(encryption: Encryption, jwk: PrivateJwk): NewSigningKey {
  const { alg, publicJwk } = importSigningKey(jwk)
  const text = JSON.stringify({ ...jwk, alg })
  return { kid: jwk.kid, alg, encrypted: encryptSecret(encryption, jwk.kid, text), publicJwk }
}

/** Decrypts the key of a row. @throws Error that names the possibly wrong settings */
export function decryptSigningKey(
  encryptionKeys: EncryptionKeys,
  { kid, encrypted }: Pick<StoredSigningKey, 'kid' | 'encrypted'>,
): SigningKey {
  try {
    return importSigningKey(PrivateJwk.parse(JSON.parse(decryptSecret(encryptionKeys, kid, encrypted))))
  } catch (cause) {
    throw new Error(
      `signing key "${kid}" cannot be opened: all processes on a database need the same AUTH_SECURITY_DATABASE_ENCRYPTION_KEY, or without it the same AUTH_JWT_SECRET; a key of before belongs into AUTH_SECURITY_DATABASE_ENCRYPTION_DECRYPTION_KEYS`,
      { cause },
    )
  }
}
