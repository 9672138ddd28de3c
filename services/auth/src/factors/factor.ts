import type { ColumnType, Generated } from 'kysely'
import { z } from 'zod'
import { challengeNotFound, factorNameTaken, factorNotFound, friendlyNameTooLong } from '../factor-errors.ts'
import type { StoredCredential } from '../passkeys/credential.ts'
import type { GeneratedTimestamp, Timestamp, TimestampColumn } from '../records/timestamp.ts'
import type { EncryptedSecret } from '../secrets/encrypted-secret.ts'

/** The type of a second factor, as clients name it (reference: Second factors). */
export type FactorType = 'totp' | 'phone' | 'webauthn' | 'recovery_code'

/** The `amr` method of a second factor, by its type (reference: Second factors). */
export const FACTOR_METHODS: Readonly<Record<FactorType, string>> = {
  totp: 'totp',
  phone: 'mfa/phone',
  webauthn: 'mfa/webauthn',
  recovery_code: 'mfa/recovery_code',
}

/** A second factor of a user, without its secret. A set of recovery codes has this form too, and is always verified. */
export interface Factor {
  readonly id: string
  /** Null or empty where the user gave none. */
  readonly friendlyName: string | null
  readonly factorType: FactorType
  readonly status: 'unverified' | 'verified'
  /** E.164 digits of a phone factor, null for other types. */
  readonly phone: string | null
  readonly lastChallengedAt: Timestamp | null
  readonly createdAt: Timestamp
  readonly updatedAt: Timestamp
}

export function requireFactor<Found>(factor: Found | undefined): Found {
  if (factor === undefined) throw factorNotFound()
  return factor
}

/** A second factor, except sets of recovery codes. It has the columns of supabase/auth, and some of our own. */
export interface MfaFactorsTable {
  id: string
  user_id: string
  friendly_name: string | null
  factor_type: ColumnType<Exclude<FactorType, 'recovery_code'>, string, string>
  status: ColumnType<Factor['status'], string, string>
  /** As supabase/auth stores the secret of an authenticator app; this service does not write it. */
  secret: ColumnType<string | null, never, never>
  sealed_secret: EncryptedSecret | null
  phone: string | null
  last_used_step: bigint | null
  credential: StoredCredential | null
  /** When the factor was first shown; null while it is not verified, and where another service has verified it. */
  proved_at: TimestampColumn | null
  last_challenged_at: TimestampColumn | null
  /** Wrong codes since the owner last showed the factor; a success sets it back. `guessed_at`: when the last one came. */
  guesses: Generated<number>
  guessed_at: TimestampColumn | null
  created_at: TimestampColumn
  updated_at: TimestampColumn
}

/** The second factors that clients are shown, sets of recovery codes among them. */
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
  /** The session that asked; null for a challenge of supabase/auth. */
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
  /** Attempts since `failing_since`. */
  guesses: Generated<number>
  failing_since: TimestampColumn | null
  /** When the codes were made. Codes that replace earlier ones keep the row. */
  codes_at: TimestampColumn
  created_at: TimestampColumn
  updated_at: TimestampColumn
}

/** One recovery code of a set, hashed. A used code keeps its row. */
export interface MfaRecoveryCodesTable {
  id: Generated<string>
  set_id: string
  code_hash: Buffer
  used_at: TimestampColumn | null
}

export interface Challenge {
  readonly id: string
  /** The hash of the code that was sent to a phone; null for other factors. */
  readonly codeHash: Buffer | null
  /** The WebAuthn challenge that an authenticator signs; null for other factors. */
  readonly webauthn: string | null
  readonly isVerified: boolean
  /** Whether the client has the address that asked for the challenge. */
  readonly isFromHere: boolean
  readonly createdAt: Timestamp
}

/** When a challenge expires. From that moment on it takes no answer. */
export function challengeEnd(createdAt: Date, lifetimeSeconds: number): Date {
  return new Date(createdAt.getTime() + lifetimeSeconds * 1_000)
}

/** Whether a challenge may be answered (reference: Proof of a factor). The order decides which error a client sees. */
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

/** Checks that no other factor of the user has a name. No index can check that for recovery codes, which have their own table. */
export function requireFreeName(name: string, others: readonly Pick<Factor, 'friendlyName'>[]): void {
  if (name.trim() !== '' && others.some(({ friendlyName }) => friendlyName === name)) refuseTakenName(name)
}

export function refuseTakenName(name: string): never {
  throw factorNameTaken({ name })
}
