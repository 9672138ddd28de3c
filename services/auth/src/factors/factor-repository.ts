import { type Insertable, type RawBuilder, type Selectable, sql } from 'kysely'
import type { Db, Trx } from '../database.ts'
import type { StoredCredential } from '../passkeys/credential.ts'
import type { EncryptedSecret } from '../secrets/encrypted-secret.ts'
import { type Challenge, FACTOR_METHODS, type Factor, type MfaFactorsTable, type UserFactorsView } from './factor.ts'

/** A factor with its secrets, which must never leave the service. */
export interface FactorWithSecrets extends Factor {
  /** The secret of an authenticator app. `null` for other types. */
  readonly secret: EncryptedSecret | null
  /** The secret as supabase/auth or SQL of an application wrote it: in base32, or encrypted by supabase/auth. */
  readonly plainSecret: string | null
  /** The credential of a verified WebAuthn factor. */
  readonly credential: StoredCredential | null
  readonly firstShownAt: string | null
}

/** Lists all factors of a user, including recovery codes, oldest first. A user has only a few. */
export async function listFactors(db: Db, userId: string): Promise<Factor[]> {
  const query = db.selectFrom('user_factors').selectAll().where('user_id', '=', userId)
  return (await query.orderBy('created_at').orderBy('id').execute()).map(toFactor)
}

/** Finds a factor of a user with its secrets. `undefined` for another user's factor and for recovery codes. */
export async function findFactor(db: Db, userId: string, factorId: string): Promise<FactorWithSecrets | undefined> {
  const query = db.selectFrom('mfa_factors').selectAll().where('id', '=', factorId).where('user_id', '=', userId)
  const row = await query.executeTakeFirst()
  const {
    secret: plainSecret = null,
    sealed_secret: secret = null,
    credential = null,
    proved_at: firstShownAt = null,
  } = row ?? {}
  return row && { ...toFactor(row), secret, plainSecret, credential, firstShownAt }
}

/** Lists a user's WebAuthn credentials. An authenticator that has one of them creates no further credential. */
export async function listFactorCredentials(db: Db, userId: string): Promise<StoredCredential[]> {
  const query = db.selectFrom('mfa_factors').select('credential').where('user_id', '=', userId)
  return (await query.execute()).flatMap((row) => row.credential ?? [])
}

/** Inserts a factor. @throws the violation of FACTOR_NAME_KEY or FACTOR_PHONE_KEY */
export async function insertFactor(trx: Db, values: Insertable<MfaFactorsTable>): Promise<Factor> {
  return toFactor(await trx.insertInto('mfa_factors').values(values).returningAll().executeTakeFirstOrThrow())
}

/** Deletes the unverified factors of a user that were enrolled before a time and never challenged. */
export async function deleteExpiredFactors(trx: Db, userId: string, before: Date): Promise<void> {
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

type MfaFactorType = Exclude<Factor['factorType'], 'recovery_code'>

/** Deletes the unverified factors of a type. If `phone` is given, deletes only those with that phone. */
export async function deleteUnverifiedFactors(
  trx: Db,
  {
    userId,
    factorType,
    phone,
  }: { readonly userId: string; readonly factorType: MfaFactorType; readonly phone?: string },
): Promise<void> {
  const query = trx
    .deleteFrom('mfa_factors')
    .where('user_id', '=', userId)
    .where('status', '=', 'unverified')
    .where('factor_type', '=', factorType)
  await (phone === undefined ? query : query.where('phone', '=', phone)).execute()
}

/** The consecutive failures after which attempts must wait (NIST SP 800-63B, 5.2.2). */
const FAILURES_MAX = 100
/** How many failures a success cancels. The owner makes fewer failures, and an attacker many more. */
const FORGIVEN_FAILURES = 20

/**
 * Counts an attempt at the codes of a factor, before the code is compared. After 100 failures, one attempt is allowed in 15
 * minutes. With every ten further failures this time doubles, up to a day. An attacker who knows the password cannot lock the
 * owner out: in a network where the user has a session of aal2, only the limits of `rate-limits.ts` apply.
 * @param attempt `network` is the client's network as a text of inet, or `undefined` if it is unknown
 * @returns `false` if the answer must count as wrong
 */
export async function countFactorAttempt(
  db: Db,
  { id, factorType, userId }: Pick<FactorWithSecrets, 'id' | 'factorType'> & { readonly userId: string },
  { now, network }: { readonly now: Date; readonly network: string | undefined },
): Promise<boolean> {
  if (factorType === 'webauthn') return true
  const pause = sql`make_interval(secs => least(86400, 900 * 2 ^ least((guesses - ${sql.lit(FAILURES_MAX)}) / 10, 7)))`
  const isKnown = sql`EXISTS (SELECT FROM ${sql.table('sessions')} s WHERE s.user_id = ${userId} AND s.aal = 'aal2'
    AND coalesce(s.last_ip, s.ip) <<= ${network ?? null}::inet)`
  const { numUpdatedRows } = await db
    .updateTable('mfa_factors')
    .set({ guesses: sql`guesses + 1`, guessed_at: now })
    .where('id', '=', id)
    .where(sql<boolean>`(guesses < ${sql.lit(FAILURES_MAX)} OR guessed_at + ${pause} <= ${now} OR ${isKnown})`)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

interface ClaimedAnswer {
  readonly id: string
  readonly step?: number
  readonly credential?: StoredCredential
  readonly now: Date
}

/**
 * Claims a right answer of a factor, and marks the factor as verified.
 * @param answer the `step` of a TOTP code must exceed the last accepted step, so that only one of concurrent requests succeeds. A
 * `credential` replaces only itself, with a higher counter (or 0, if the authenticator does not count)
 * @returns `false` if the answer was used before
 */
export async function claimFactorAnswer(trx: Db, { id, step, credential, now }: ClaimedAnswer): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('mfa_factors')
    .set({
      status: 'verified',
      proved_at: sql<string | null>`CASE WHEN status = 'verified' THEN proved_at ELSE ${now}::timestamptz END`,
      updated_at: now,
      guesses: sql<number>`greatest(guesses - ${sql.lit(FORGIVEN_FAILURES + 1)}, 0)`,
      ...(step !== undefined && { last_used_step: BigInt(step) }),
      ...(credential && { credential }),
    })
    .where('id', '=', id)
    .$if(step !== undefined, (query) => query.where(sql<boolean>`coalesce(last_used_step < ${step}, true)`))
    .where(credential ? isNextUse(credential) : sql<boolean>`true`)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** A credential may be stored if the row has none, or has the same one with a lower counter. */
function isNextUse({ id, counter }: StoredCredential): RawBuilder<boolean> {
  const stored = sql`(credential ->> 'counter')::bigint`
  const rises = counter === 0 ? sql`${stored} = 0` : sql`${stored} < ${counter}`
  return sql`coalesce(credential ->> 'id' = ${id} AND ${rises}, true)`
}

/**
 * Locks a factor or the recovery codes of a user until the transaction ends. Returns `undefined` if the user has none with this
 * id.
 *
 * Lock order: the user, whom the caller locks, then the row in either table. Every change of a factor locks its user first, so
 * two changes cannot deadlock.
 */
export async function lockFactor(trx: Trx, userId: string, factorId: string): Promise<Factor | undefined> {
  for (const table of ['mfa_factors', 'mfa_recovery_sets'] as const) {
    await trx
      .selectFrom(table)
      .select('id')
      .where('id', '=', factorId)
      .where('user_id', '=', userId)
      .forUpdate()
      .execute()
  }
  const query = trx.selectFrom('user_factors').selectAll().where('id', '=', factorId).where('user_id', '=', userId)
  const row = await query.executeTakeFirst()
  return row && toFactor(row)
}

/** Whether a user has a verified second factor. Recovery codes do not count, because they need another factor. */
export async function hasVerifiedFactor(db: Db, userId: string): Promise<boolean> {
  const query = db.selectFrom('mfa_factors').select('id').where('user_id', '=', userId).where('status', '=', 'verified')
  return (await query.limit(1).executeTakeFirst()) !== undefined
}

/** The unique index of the user and the factor's name. Blank names do not collide. */
export const FACTOR_NAME_KEY = 'mfa_factors_user_friendly_name_unique'
/** The unique index of the user and the factor's phone. */
export const FACTOR_PHONE_KEY = 'unique_phone_factor_per_user'

interface FactorUpdate {
  readonly friendlyName: string | undefined
  /** If it is `undefined`, the phone stays. Only phone factors have one. */
  readonly phone: string | undefined
  readonly now: Date
}

/** @throws the violation of FACTOR_NAME_KEY or FACTOR_PHONE_KEY if another factor has the name or phone */
export async function updateFactor(
  trx: Db,
  { id, factorType }: Pick<Factor, 'id' | 'factorType'>,
  { friendlyName, phone, now }: FactorUpdate,
): Promise<Factor> {
  const named = { updated_at: now, ...(friendlyName === undefined ? {} : { friendly_name: friendlyName }) }
  const { numUpdatedRows } =
    factorType === 'recovery_code'
      ? await trx.updateTable('mfa_recovery_sets').set(named).where('id', '=', id).executeTakeFirst()
      : await trx
          .updateTable('mfa_factors')
          .set({ ...named, ...(phone === undefined ? {} : { phone }) })
          .where('id', '=', id)
          .executeTakeFirst()
  if (numUpdatedRows === 0n) throw new Error('no such factor')
  return toFactor(await trx.selectFrom('user_factors').selectAll().where('id', '=', id).executeTakeFirstOrThrow())
}

/** Deletes a factor. Sessions that it stepped up return to aal1 and lose second-factor methods (reference: Unenrolment). */
export async function deleteFactor(
  trx: Trx,
  { id, factorType }: Pick<Factor, 'id' | 'factorType'>,
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
  const table = factorType === 'recovery_code' ? 'mfa_recovery_sets' : 'mfa_factors'
  await trx.deleteFrom(table).where('id', '=', id).execute()
}

/** The columns of a factor without its secrets. */
export type FactorRow = Omit<Selectable<UserFactorsView>, 'user_id'>

/** Maps a row to a factor. An empty phone becomes `null`. */
export function toFactor(row: FactorRow): Factor {
  return {
    id: row.id,
    friendlyName: row.friendly_name,
    factorType: row.factor_type,
    status: row.status,
    phone: row.phone || null,
    lastChallengedAt: row.last_challenged_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

/** A challenge to store. The hash and the WebAuthn challenge are `null` if the type has none. */
export interface NewChallenge {
  readonly id: string
  readonly factorId: string
  /** The session that requested the challenge. The challenge ends with the session. */
  readonly sessionId: string
  /** A valid IP address, or empty. */
  readonly ip: string
  /** `null` if no code was sent. */
  readonly codeHash: Buffer | null
  /** The WebAuthn challenge that an authenticator signs. */
  readonly webauthn: string | null
  readonly createdAt: Date
  /** The number of microseconds to add to the challenge's time in the factor's row. */
  readonly delayMicroseconds: number
}

/** This unique index is violated if two factors are challenged in the same microsecond. */
export const CHALLENGE_MOMENT_KEY = 'mfa_factors_last_challenged_at_key'

/** Stores a challenge, and its time in the factor's row. */
export async function insertChallenge(trx: Db, challenge: NewChallenge): Promise<void> {
  const { id, factorId, sessionId, ip, codeHash, webauthn, createdAt, delayMicroseconds } = challenge
  await trx
    .insertInto('mfa_challenges')
    .values({
      id,
      factor_id: factorId,
      session_id: sessionId,
      ip: ip || null,
      otp_hash: codeHash,
      web_authn_session_data: webauthn === null ? null : { challenge: webauthn },
      created_at: createdAt,
    })
    .execute()
  const askedAt = sql<string>`${createdAt}::timestamptz + ${delayMicroseconds}::int * interval '1 microsecond'`
  await trx.updateTable('mfa_factors').set({ last_challenged_at: askedAt }).where('id', '=', factorId).execute()
}

/** Finds a challenge of a factor, or returns `undefined` if the id is unknown. @param ip the client's address */
export async function findChallenge(
  db: Db,
  { id, factorId, ip }: Pick<NewChallenge, 'id' | 'factorId' | 'ip'>,
): Promise<Challenge | undefined> {
  const row = await db
    .selectFrom('mfa_challenges')
    .select(['id', 'otp_hash', 'verified_at', 'web_authn_session_data', 'created_at'])
    .select(sql<boolean>`ip IS NOT DISTINCT FROM ${ip || null}::inet`.as('is_from_here'))
    .where('id', '=', id)
    .where('factor_id', '=', factorId)
    .executeTakeFirst()
  if (!row) return undefined
  return {
    id: row.id,
    codeHash: row.otp_hash,
    webauthn: row.web_authn_session_data?.challenge ?? null,
    isVerified: row.verified_at !== null,
    isFromHere: row.is_from_here,
    createdAt: row.created_at,
  }
}

/**
 * Counts an attempt before it is compared, so that concurrent attempts cannot exceed the limit.
 * @returns the remaining attempts; `undefined` if none was left
 */
export async function countChallengeAttempt(db: Db, id: string, attemptsMax: number): Promise<number | undefined> {
  const row = await db
    .updateTable('mfa_challenges')
    .set({ guesses: sql`guesses + 1` })
    .where('id', '=', id)
    .where('guesses', '<', attemptsMax)
    .returning('guesses')
    .executeTakeFirst()
  return row && attemptsMax - row.guesses
}

/** Consumes a challenge. Returns `false` if another request has consumed it before. */
export async function claimChallenge(trx: Db, id: string, now: Date): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('mfa_challenges')
    .set({ verified_at: now })
    .where('id', '=', id)
    .where('verified_at', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Deletes an unanswered challenge. An answered one stays, so that a second answer is recognized. */
export async function deleteChallenge(db: Db, id: string): Promise<void> {
  await db.deleteFrom('mfa_challenges').where('id', '=', id).where('verified_at', 'is', null).execute()
}
