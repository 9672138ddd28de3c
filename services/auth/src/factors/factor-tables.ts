import type { ColumnType, Generated } from 'kysely'
import type { StoredCredential } from '../passkeys/credential.ts'
import type { GeneratedTimestamp, TimestampColumn } from '../records/column-types.ts'
import type { SealedSecret } from '../secrets/sealed-secret.ts'
import type { Factor, FactorType } from './factor.ts'

/** A second factor, except sets of recovery codes. It has the columns of supabase/auth, and some of our own. */
export interface MfaFactorsTable {
  id: string
  user_id: string
  friendly_name: string | null
  factor_type: ColumnType<Exclude<FactorType, 'recovery_code'>, string, string>
  status: ColumnType<Factor['status'], string, string>
  /** As supabase/auth stores the secret of an authenticator app; this service does not write it. */
  secret: ColumnType<string | null, never, never>
  sealed_secret: SealedSecret | null
  phone: string | null
  last_used_step: bigint | null
  credential: StoredCredential | null
  /** When the factor was first shown; null while it is not verified, and where another service has verified it. */
  proved_at: TimestampColumn | null
  last_challenged_at: TimestampColumn | null
  /**
   * The number of wrong codes since the owner last showed the factor. A success sets the number back. `guessed_at`: when the
   * last wrong code came.
   */
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

/** The recovery codes of a user. */
export interface MfaRecoverySetsTable {
  id: string
  user_id: string
  friendly_name: string
  /** Guesses since `failing_since`. */
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
