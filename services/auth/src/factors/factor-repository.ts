import {
  type Insertable,
  type Kysely,
  type RawBuilder,
  type Selectable,
  sql,
  type Transaction,
  type Updateable,
} from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { MfaFactorsTable } from '../factor-tables.ts'
import type { StoredCredential } from '../webauthn/credential.ts'
import { FACTOR_METHODS, type Factor } from './factor.ts'

type Database = Kysely<AuthDatabase>

/** A factor with what only the service itself may see of it. */
export interface FactorWithSecrets extends Factor {
  readonly secret: MfaFactorsTable['secret']
  /** Of a WebAuthn factor, once it has been verified. */
  readonly credential: StoredCredential | null
}

/** All factors of a user, oldest first. A user has a handful. */
export async function listFactors(db: Database, userId: string): Promise<Factor[]> {
  const query = db.selectFrom('mfa_factors').selectAll().where('user_id', '=', userId)
  return (await query.orderBy('created_at').orderBy('id').execute()).map(toFactor)
}

/** Finds a factor of a user. */
export async function findFactor(
  db: Database,
  userId: string,
  factorId: string,
): Promise<FactorWithSecrets | undefined> {
  const query = db.selectFrom('mfa_factors').selectAll().where('id', '=', factorId).where('user_id', '=', userId)
  const row = await query.executeTakeFirst()
  return row && { ...toFactor(row), secret: row.secret, credential: row.web_authn_credential }
}

/** The WebAuthn credentials among the factors of a user. */
export async function listFactorCredentials(db: Database, userId: string): Promise<StoredCredential[]> {
  const query = db.selectFrom('mfa_factors').select('web_authn_credential').where('user_id', '=', userId)
  return (await query.execute()).flatMap((row) => row.web_authn_credential ?? [])
}

/** Adds a factor. */
export async function insertFactor(trx: Database, values: Insertable<MfaFactorsTable>): Promise<Factor> {
  return toFactor(await trx.insertInto('mfa_factors').values(values).returningAll().executeTakeFirstOrThrow())
}

/** Removes what a user has begun to enroll before a time, and never got as far as a challenge with. */
export async function deleteExpiredFactors(trx: Database, userId: string, before: Date): Promise<void> {
  await trx
    .deleteFrom('mfa_factors')
    .where('user_id', '=', userId)
    .where('status', '=', 'unverified')
    .where('created_at', '<', sql<string>`${before}`)
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('mfa_challenges').select('id').whereRef('factor_id', '=', 'mfa_factors.id'))),
    )
    .execute()
}

/** Removes the factors of a type that a user has not verified; where `phone` is given, only those of that phone. */
export async function deleteUnverifiedFactors(
  trx: Database,
  { userId, factorType, phone }: Pick<Factor, 'factorType'> & { readonly userId: string; readonly phone?: string },
): Promise<void> {
  const query = trx
    .deleteFrom('mfa_factors')
    .where('user_id', '=', userId)
    .where('status', '=', 'unverified')
    .where('factor_type', '=', factorType)
  await (phone === undefined ? query : query.where('phone', '=', phone)).execute()
}

/** Consecutive failures after which guesses are held off (NIST SP 800-63B, 5.2.2). */
const FAILURES_MAX = 100
/** What a success takes back: more than an owner fails at, much less than a guesser does. */
const FORGIVEN = 20

/**
 * Takes a guess at the codes of a factor, before it is compared: after a hundred failures there is one in a quarter of an hour,
 * and after every ten more one in twice that time, up to a day. Nobody is locked out by somebody who has their password: where
 * the user has a session that showed a second factor, the limits of `failed-attempts.ts` stand alone.
 * @param guess `network` of who guesses, as a text of inet; undefined: nobody is known by it
 * @returns false where the answer must count as wrong
 */
export async function claimFactorGuess(
  db: Database,
  { id, factorType, userId }: Pick<FactorWithSecrets, 'id' | 'factorType'> & { readonly userId: string },
  { now, network }: { readonly now: Date; readonly network: string | undefined },
): Promise<boolean> {
  if (factorType === 'webauthn') return true
  const pause = sql`make_interval(secs => least(86400, 900 * 2 ^ least((failures - ${sql.lit(FAILURES_MAX)}) / 10, 7)))`
  const isKnown = sql`EXISTS (SELECT FROM ${sql.table('sessions')} s WHERE s.user_id = ${userId} AND s.aal = 'aal2'
    AND coalesce(s.last_ip, s.ip) <<= ${network ?? null}::inet)`
  const { numUpdatedRows } = await db
    .updateTable('mfa_factors')
    .set({ failures: sql`failures + 1`, failed_at: now })
    .where('id', '=', id)
    .where(sql<boolean>`(failures < ${sql.lit(FAILURES_MAX)} OR failed_at + ${pause} <= ${now} OR ${isKnown})`)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

interface AcceptedFactor {
  readonly id: string
  readonly step?: number
  readonly credential?: StoredCredential
  readonly now: Date
}

/**
 * Accepts the proof of a factor, which is a verified one from then on.
 * @param accepted `step`, of a code by time, is taken once: one that is not above the last that was taken is refused, of many
 *   that come at once all but one. A `credential` takes the place of none but itself, with a counter below its own (0 where
 *   its authenticator does not count)
 */
export async function acceptFactor(trx: Database, { id, step, credential, now }: AcceptedFactor): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('mfa_factors')
    .set({
      status: 'verified',
      updated_at: now,
      failures: sql<number>`greatest(failures - ${sql.lit(FORGIVEN + 1)}, 0)`,
      ...(step !== undefined && { last_used_step: BigInt(step) }),
      ...(credential && { web_authn_credential: credential }),
    })
    .where('id', '=', id)
    .$if(step !== undefined, (query) => query.where(sql<boolean>`coalesce(last_used_step < ${step}, true)`))
    .where(credential ? succeeds(credential) : sql<boolean>`true`)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Whether a credential may be stored where there is none yet, or where it is itself, as it was before this use. */
function succeeds({ id, counter }: StoredCredential): RawBuilder<boolean> {
  const stored = sql`(web_authn_credential ->> 'counter')::bigint`
  const rises = counter === 0 ? sql`${stored} = 0` : sql`${stored} < ${counter}`
  return sql`coalesce(web_authn_credential ->> 'id' = ${id} AND ${rises}, true)`
}

/** Locks a factor of a user until the transaction ends. */
export async function lockFactor(
  trx: Transaction<AuthDatabase>,
  userId: string,
  factorId: string,
): Promise<Factor | undefined> {
  const row = await trx
    .selectFrom('mfa_factors')
    .selectAll()
    .where('id', '=', factorId)
    .where('user_id', '=', userId)
    .forUpdate()
    .executeTakeFirst()
  return row && toFactor(row)
}

/** Whether a user has a second factor that they have proven to have. */
export async function hasVerifiedFactor(db: Database, userId: string): Promise<boolean> {
  const query = db.selectFrom('mfa_factors').select('id').where('user_id', '=', userId).where('status', '=', 'verified')
  return (await query.limit(1).executeTakeFirst()) !== undefined
}

/** Changes a factor. Throws the unique violation of `mfa_factors_name_key` when its user has another of that name. */
export async function updateFactor(
  trx: Database,
  factorId: string,
  changes: Updateable<MfaFactorsTable>,
): Promise<Factor> {
  const query = trx.updateTable('mfa_factors').set(changes).where('id', '=', factorId)
  return toFactor(await query.returningAll().executeTakeFirstOrThrow())
}

/**
 * Removes a factor. Sessions that it raised fall to aal1 and lose all proofs of second factors
 * (reference: Unenrolment).
 */
export async function deleteFactor(
  trx: Transaction<AuthDatabase>,
  { id }: Pick<Factor, 'id'>,
  now: Date,
): Promise<void> {
  const lowered = await trx
    .updateTable('sessions')
    .set({ aal: 'aal1', factor_id: null, updated_at: now })
    .where('factor_id', '=', id)
    .returning('id')
    .execute()
  const sessionIds = lowered.map((session) => session.id)
  if (sessionIds.length > 0) {
    await trx
      .deleteFrom('mfa_amr_claims')
      .where('session_id', 'in', sessionIds)
      .where('authentication_method', 'in', Object.values(FACTOR_METHODS))
      .execute()
  }
  await trx.deleteFrom('mfa_factors').where('id', '=', id).execute()
}

/** The columns of a factor that may be seen: not its secret. */
export type FactorRow = Pick<
  Selectable<MfaFactorsTable>,
  'id' | 'friendly_name' | 'factor_type' | 'status' | 'phone' | 'last_challenged_at' | 'created_at' | 'updated_at'
>

/** Maps a row to the domain's factor. */
export function toFactor(row: FactorRow): Factor {
  return {
    id: row.id,
    friendlyName: row.friendly_name,
    // The table's CHECK constraints allow nothing else.
    factorType: row.factor_type as Factor['factorType'],
    status: row.status as Factor['status'],
    phone: row.phone,
    lastChallengedAt: row.last_challenged_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
