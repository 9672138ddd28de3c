import type { ColumnType, Generated, Kysely, Transaction } from 'kysely'
import type * as factors from './factors/factor.ts'
import type { ExternalAccount } from './identities/identity.ts'
import type { MessagesTable } from './messages/message-record.ts'
import type { TokenKind } from './one-time-tokens/one-time-token.ts'
import type { WebauthnChallengesTable, WebauthnCredentialsTable } from './passkeys/credential.ts'
import type { Computed, FilledTimestamp, GeneratedTimestamp, JsonObject, TimestampColumn } from './records/timestamp.ts'
import type { EncryptedSecret } from './secrets/encrypted-secret.ts'
import type { UsersTable } from './users/user.ts'

/** The table for lists and searches of users, without pending sign-ups. A trigger writes it. */
interface UserDirectoryTable {
  user_id: string
  aud: string
  created_at: TimestampColumn
  document: string
}

/** A way to sign in. PostgreSQL computes `email` from `identity_data`. */
export interface IdentitiesTable {
  id: Generated<string>
  user_id: string
  provider: string
  provider_id: string
  identity_data: ColumnType<unknown, JsonObject, JsonObject>
  email: Computed<string | null>
  last_sign_in_at: TimestampColumn | null
  created_at: FilledTimestamp
  updated_at: FilledTimestamp
}

/** The hashed secrets of a message. At most one row per user and kind. `session_id` is the session that requested a nonce. */
export interface OneTimeTokensTable {
  id: Generated<string>
  user_id: string
  kind: ColumnType<TokenKind, string, string>
  relates_to: string
  link_hash: Buffer | null
  otp_hash: Buffer | null
  otp_salt: Buffer | null
  guesses: Generated<number>
  is_resent: Generated<boolean>
  flow_state_id: string | null
  session_id: string | null
  sent_at: GeneratedTimestamp
  expires_at: TimestampColumn
}

/** An audit event (reference: Audit log). */
interface AuditLogEntriesTable {
  id: Generated<string>
  actor_id: string | null
  target_user_id: string | null
  session_id: string | null
  action: string
  log_type: string
  ip_address: Generated<string>
  created_at: GeneratedTimestamp
  payload: JsonObject
}

/** The time of the last request for a message of each kind, by keyed hash of the address. */
interface SendThrottleTable {
  key_hash: Buffer
  kind: string
  sent_at: TimestampColumn
}

/** The number of code attempts for an address per day, by keyed hash of the address. */
interface CodeAttemptsTable {
  key_hash: Buffer
  guesses: number
  since: TimestampColumn
}

/** A flow over several requests: an external sign-in, or the PKCE flow of a mail. */
export interface FlowStateTable extends Record<'email_optional' | 'is_sso_user', Generated<boolean>> {
  id: Generated<string>
  user_id: string | null
  provider_type: string
  /** The `amr` method of the session that starts with the exchange of the code (reference: Use of a secret). */
  authentication_method: ColumnType<
    'email/signup' | 'magiclink' | 'recovery' | 'invite' | 'email_change' | 'oauth',
    string,
    string
  >
  code_challenge: string | null
  code_challenge_method: ColumnType<'s256' | 'plain' | null, string | null, string | null>
  auth_code_hash: Buffer | null
  auth_code_issued_at: TimestampColumn | null
  /** The final address of the browser, after a check by the redirect rules. */
  redirect_to: string | null
  invite_token_hash: Buffer | null
  linking_target_id: string | null
  provider_pkce_verifier: EncryptedSecret | null
  oauth1_secret: EncryptedSecret | null
  provider_access_token: EncryptedSecret | null
  provider_refresh_token: EncryptedSecret | null
  /** The time of the provider's answer. A flow can be claimed only once. */
  claimed_at: TimestampColumn | null
  /** The session that started to link an identity. If the session ends, the flow ends too. */
  linking_session_id: string | null
  /** The assurance level of the token that started to link an identity. NULL counts as `aal1`. */
  linking_aal: string | null
  /** The external account that is linked when the code is exchanged. */
  linked_account: ExternalAccount | null
  /** Since when the identity of the sign-in belongs to the account. NULL means since the account exists. */
  credential_since: TimestampColumn | null
  created_at: GeneratedTimestamp
}

/** The content of the last request for an unconfirmed account, by kind of message (reference: Content of a sign-up). */
interface SignUpContentsTable extends Record<'user_id' | 'kind' | 'aud', string> {
  data: JsonObject
  password_hash: string | null
}

/** The time when a user changed to the present email or phone. */
interface AddressChangesTable {
  user_id: string
  kind: string
  changed_at: TimestampColumn
}

export interface CustomProvidersTable {
  id: string
  identifier: string
  client_secret: EncryptedSecret
  settings: JsonObject
  created_at: TimestampColumn
  updated_at: TimestampColumn
}

/** A job that a SQL function has inserted. A worker moves it to the queue. */
interface OutboxTable {
  id: Generated<bigint>
  task: string
  data: JsonObject
  created_at: Generated<string>
}

/** A change by an operator, with its answer. Only its own transaction sees a row without an answer. */
interface OperatorChangesTable extends Record<'id' | 'actor_id' | 'key', string> {
  fingerprint: Buffer
  status: number | null
  sealed_body: EncryptedSecret | null
  created_at: TimestampColumn
}

/** All tables of the auth service, by name without the prefix of DB_NAMESPACE. */
export interface AuthTables {
  users: UsersTable
  user_directory: UserDirectoryTable
  identities: IdentitiesTable
  one_time_tokens: OneTimeTokensTable
  audit_log_entries: AuditLogEntriesTable
  send_throttle: SendThrottleTable
  code_guesses: CodeAttemptsTable
  flow_state: FlowStateTable
  sessions: SessionsTable
  refresh_tokens: RefreshTokensTable
  mfa_amr_claims: AmrClaimsTable
  address_changes: AddressChangesTable
  sign_up_contents: SignUpContentsTable
  mfa_factors: factors.MfaFactorsTable
  mfa_challenges: factors.MfaChallengesTable
  mfa_recovery_sets: factors.MfaRecoverySetsTable
  mfa_recovery_codes: factors.MfaRecoveryCodesTable
  user_factors: factors.UserFactorsView
  webauthn_credentials: WebauthnCredentialsTable
  webauthn_challenges: WebauthnChallengesTable
  signing_keys: SigningKeysTable
  custom_oauth_providers: CustomProvidersTable
  deleted_providers: Record<'identifier' | 'issuer' | 'subject_claim', string>
  outbox: OutboxTable
  operator_changes: OperatorChangesTable
  messages: MessagesTable
}

/** A connection to the database, or an open database transaction. */
export type Db = Kysely<AuthTables>

/**
 * An open database transaction. The writes of a function and of its caller are committed together or not at all (decision 34).
 *
 * Lock order: a user before the other rows of the user, so that transactions cannot deadlock. The function sign_up
 * (migrations/auth/functions) states the place of message intervals in this order.
 */
export type Trx = Transaction<AuthTables>

// The tables of sessions, and of the keys that sign their access tokens.

/** A sign-in. Deleting the row ends the session. */
interface SessionsTable {
  id: string
  user_id: string
  /** NULL counts as `aal1`. */
  aal: ColumnType<string | null, string | undefined, string>
  factor_id: string | null
  not_after: TimestampColumn | null
  /** In UTC, without a time zone. Only SQL reads this column. */
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

/** A refresh token by its hash. `counter` numbers the tokens of a session from 0. */
interface RefreshTokensTable {
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

/** An authentication method of a session. */
interface AmrClaimsTable {
  id: string
  session_id: string
  authentication_method: string
  /** Since when the credential of the method belongs to the account. NULL means since the account exists. */
  credential_since: TimestampColumn | null
  created_at: TimestampColumn
  updated_at: TimestampColumn
}

/** A signing key. `state` is next, active or retired. */
interface SigningKeysTable {
  kid: string
  alg: string
  state: string
  private_sealed: EncryptedSecret
  /** NULL for a symmetric key. */
  public_jwk: JsonObject | null
  created_at: GeneratedTimestamp
  retire_at: TimestampColumn | null
}
