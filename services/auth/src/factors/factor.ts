import type { ColumnType, Generated } from 'kysely'
import { z } from 'zod'
import { challengeNotFound, factorNameTaken, factorNotFound, friendlyNameTooLong } from '../factor-errors.ts'
import type { StoredCredential } from '../passkeys/credential.ts'
import type { GeneratedTimestamp, Timestamp, TimestampColumn } from '../records/timestamp.ts'
import type { EncryptedSecret } from '../secrets/encrypted-secret.ts'

/** The type of a second factor, as in the API (reference: Second factors). */
export type FactorType = 'totp' | 'phone' | 'webauthn' | 'recovery_code'

/** The `amr` method of a second factor, by its type (reference: Second factors). */
export const FACTOR_METHODS: Readonly<Record<FactorType, string>> = {
  totp: 'totp',
  phone: 'mfa/phone',
  webauthn: 'mfa/webauthn',
  recovery_code: 'mfa/recovery_code',
}

/** A second factor of a user, without its secret. A set of recovery codes also has this form, and is always verified. */
export interface Factor {
  readonly id: string
  /** `null` or empty if the user gave no name. */
  readonly friendlyName: string | null
  readonly factorType: FactorType
  readonly status: 'unverified' | 'verified'
  /** The E.164 digits of a phone factor. `null` for other types. */
  readonly phone: string | null
  readonly lastChallengedAt: Timestamp | null
  readonly createdAt: Timestamp
  readonly updatedAt: Timestamp
}

export function requireFactor<Found>(factor: Found | undefined): Found {
  if (factor === undefined) throw factorNotFound()
  return factor
}

/** Second factors, except sets of recovery codes. The table has the columns of supabase/auth and further ones. */
export interface MfaFactorsTable {
  id: string
  user_id: string
  friendly_name: string | null
  factor_type: ColumnType<Exclude<FactorType, 'recovery_code'>, string, string>
  status: ColumnType<Factor['status'], string, string>
  /** The secret in the format of supabase/auth. This service does not write it. */
  secret: ColumnType<string | null, never, never>
  sealed_secret: EncryptedSecret | null
  phone: string | null
  last_used_step: bigint | null
  credential: StoredCredential | null
  /** When the user first proved the factor. `null` if it is unverified, or if another service verified it. */
  proved_at: TimestampColumn | null
  last_challenged_at: TimestampColumn | null
  /** Wrong codes since the last proof by the owner. `guessed_at` is the time of the last one. A success lowers the number. */
  guesses: Generated<number>
  guessed_at: TimestampColumn | null
  created_at: TimestampColumn
  updated_at: TimestampColumn
}

/** All second factors that clients see, including sets of recovery codes. */
export interface UserFactorsView {
  user_id: string
  id: string
  friendly_name: string | null
  factor_type: FactorType
  status: Factor['status']
  phone: string | null
  last_challenged_at: TimestampColumn | null
  created_at: TimestampColumn
  updated_at: TimestampColumn
}

/** A challenge of a second factor. Its id is the salt of `otp_hash`. */
export interface MfaChallengesTable {
  id: string
  factor_id: string
  /** The session that requested the challenge. `null` for a challenge of supabase/auth. */
  session_id: string | null
  ip: string | null
  otp_hash: Buffer | null
  guesses: Generated<number>
  verified_at: TimestampColumn | null
  web_authn_session_data: { challenge: string } | null
  created_at: GeneratedTimestamp
}

export interface MfaRecoverySetsTable {
  id: string
  user_id: string
  friendly_name: string
  /** The number of attempts since `failing_since`. */
  guesses: Generated<number>
  failing_since: TimestampColumn | null
  /** When the codes were created. New codes keep the row of the set. */
  codes_at: TimestampColumn
  created_at: TimestampColumn
  updated_at: TimestampColumn
}

/** The hash of one recovery code. The row stays after the code is used. */
export interface MfaRecoveryCodesTable {
  id: Generated<string>
  set_id: string
  code_hash: Buffer
  used_at: TimestampColumn | null
}

export interface Challenge {
  readonly id: string
  /** The hash of the code that was sent to a phone. `null` for other factors. */
  readonly codeHash: Buffer | null
  /** The WebAuthn challenge that an authenticator signs. `null` for other factors. */
  readonly webauthn: string | null
  readonly isVerified: boolean
  /** Whether the client has the same address as the one that requested the challenge. */
  readonly isFromHere: boolean
  readonly createdAt: Timestamp
}

/** The time from which a challenge accepts no answer. */
export function challengeEnd(createdAt: Date, lifetimeSeconds: number): Date {
  return new Date(createdAt.getTime() + lifetimeSeconds * 1_000)
}

/** Whether a challenge may be answered (reference: Proof of a factor). The order of the checks decides the client's error. */
export function judgeChallenge(
  challenge: Challenge,
  now: Date,
  lifetimeSeconds: number,
): 'open' | 'mismatch' | 'expired' {
  if (challenge.isVerified || !challenge.isFromHere) return 'mismatch'
  return now < challengeEnd(new Date(challenge.createdAt), lifetimeSeconds) ? 'open' : 'expired'
}

export function requireChallenge<Found>(found: Found | undefined): Found {
  if (found === undefined) throw challengeNotFound()
  return found
}

const NAME_LENGTH_MAX = 120

export const friendlyNameField = z.string().optional().meta({ maxLength: NAME_LENGTH_MAX, example: 'My phone' })

export function requireFriendlyName(name: string): string {
  if ([...name].length <= NAME_LENGTH_MAX) return name
  throw friendlyNameTooLong({ max: NAME_LENGTH_MAX })
}

/**
 * Checks that no other factor of the user has this name. An index cannot cover recovery codes, because they are in another table.
 */
export function requireFreeName(name: string, others: readonly Pick<Factor, 'friendlyName'>[]): void {
  if (name.trim() !== '' && others.some(({ friendlyName }) => friendlyName === name)) refuseTakenName(name)
}

export function refuseTakenName(name: string): never {
  throw factorNameTaken({ name })
}
