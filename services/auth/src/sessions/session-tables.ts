import type { ColumnType, Generated } from 'kysely'
import type { FilledTimestamp, GeneratedTimestamp, JsonObject, TimestampColumn } from '../records/column-types.ts'
import type { SealedSecret } from '../secrets/sealed-secret.ts'

// The tables of sessions, and of the keys that sign their access tokens.

/** A sign-in. Deleting the row ends it. */
export interface SessionsTable {
  id: string
  user_id: string
  /** NULL counts as aal1. */
  aal: ColumnType<string | null, string | undefined, string>
  factor_id: string | null
  not_after: TimestampColumn | null
  /** In UTC, without a time zone. Only SQL reads it. */
  refreshed_at: ColumnType<Date | null, string | null | undefined, string | null>
  user_agent: string | null
  ip: string | null
  last_ip: string | null
  label: string | null
  tag: string | null
  oauth_client_id: string | null
  scopes: string | null
  created_at: FilledTimestamp
  updated_at: FilledTimestamp
}

/** A refresh token by its hash; `counter` numbers the tokens of a session, from 0. */
export interface RefreshTokensTable {
  id: Generated<bigint>
  session_id: string
  user_id: string
  token_hash: Buffer
  counter: bigint
  parent_id: bigint | null
  revoked: Generated<boolean>
  created_at: GeneratedTimestamp
  updated_at: GeneratedTimestamp
}

/** A way in which the user behind a session has proven who they are. */
export interface AmrClaimsTable {
  id: string
  session_id: string
  authentication_method: string
  /** Since when the credential of the proof belongs to the account; null: since the account was made. */
  credential_since: TimestampColumn | null
  created_at: TimestampColumn
  updated_at: TimestampColumn
}

/** A key of access tokens. `state` is next, active or retired. */
export interface SigningKeysTable {
  kid: string
  alg: string
  state: string
  private_sealed: SealedSecret
  /** Null for a symmetric key. */
  public_jwk: JsonObject | null
  created_at: GeneratedTimestamp
  retire_at: TimestampColumn | null
}
