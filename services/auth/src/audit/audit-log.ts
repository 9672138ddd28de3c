import type { OperatorAction } from '@trestle/operators/operator-roles.ts'
import type { AuthConfig } from '../config.ts'
import type { Db, Trx } from '../database.ts'
import { NIL_UUID } from '../records/ids.ts'
import { auditName, type User } from '../users/user.ts'

/** The user or admin who acted, for the audit log. `id` is `null` if the token of an admin names no user. */
export type AuditActor = Pick<User, 'email' | 'phone' | 'userMetadata' | 'isSsoUser'> & { readonly id: string | null }

/** The actor of a failed check of an address without a user. */
export const UNKNOWN_ACTOR: AuditActor = { id: null, email: null, phone: null, userMetadata: {}, isSsoUser: false }

/** The id of an actor without an id, as clients of the audit log expect it. */
const NO_ACTOR_ID = NIL_UUID

/** Audit actions with their groups (reference: Audit log). */
const LOG_TYPES = {
  login: 'account',
  login_failed: 'account',
  logout: 'account',
  invite_accepted: 'account',
  user_signedup: 'team',
  user_invited: 'team',
  user_deleted: 'team',
  users_imported: 'team',
  token_revoked: 'token',
  token_refreshed: 'token',
  user_modified: 'user',
  user_recovery_requested: 'user',
  user_reauthenticate_requested: 'user',
  user_confirmation_requested: 'user',
  user_repeated_signup: 'user',
  verification_failed: 'user',
  reauthentication_failed: 'user',
  user_updated_password: 'user',
  identity_linked: 'user',
  identity_unlinked: 'user',
  passkey_created: 'user',
  passkey_updated: 'user',
  passkey_deleted: 'user',
  factor_in_progress: 'factor',
  factor_unenrolled: 'factor',
  challenge_created: 'factor',
  verification_attempted: 'factor',
  factor_verification_failed: 'factor',
  factor_deleted: 'factor',
  factor_updated: 'factor',
  provider_created: 'provider',
  provider_updated: 'provider',
  provider_deleted: 'provider',
} as const

type UsualAction = keyof typeof LOG_TYPES

/** An action of the audit log (reference: Audit log). It determines the `log_type`. */
export type AuditAction = UsualAction | `operator.${OperatorAction}`

/** Returns the group of an action. Changes by operators have their own group. */
function logTypeOf(action: AuditAction): string {
  return isUsual(action) ? LOG_TYPES[action] : 'operator'
}

function isUsual(action: AuditAction): action is UsualAction {
  return action in LOG_TYPES
}

/** The setting AUDIT_LOG_DISABLE_POSTGRES selects the table or the log. A profile may use both. */
export interface AuditDeps {
  readonly config: Pick<AuthConfig, 'compatibility' | 'database'>
  readonly logger: { info(line: object, text: string): void }
  readonly now: () => Date
}

/** An event on an account. The entry is inserted in the transaction of the change. */
export interface AuditEvent {
  readonly action: AuditAction
  /** The user or admin who acted. For sign-in flows, the user. */
  readonly actor: AuditActor
  /** The user whose account was changed. Absent if the actor changed their own account. */
  readonly target?: Pick<User, 'id'>
  /** The client's address, or an empty text if it is unknown (reference: Client address). */
  readonly ip: string
  readonly sessionId?: string
  readonly traits?: Readonly<Record<string, unknown>>
}

/**
 * Records an event in the transaction that causes it. With AUDIT_LOG_DISABLE_POSTGRES, the event goes only to the log. A failed
 * attempt changes nothing, so it needs no transaction.
 */
export async function recordAudit(db: Db, deps: AuditDeps, event: AuditEvent): Promise<void> {
  const { action, actor, target = actor, ip, sessionId } = event
  const payload = toPayload(event)
  if (isLogged(deps)) deps.logger.info({ auth_event: { ...payload, ip_address: ip } }, 'audit')
  if (!deps.config.database.auditInPostgres) return
  await db
    .insertInto('audit_log_entries')
    .values({
      actor_id: actor.id,
      target_user_id: target.id,
      session_id: sessionId ?? null,
      action,
      log_type: logTypeOf(action),
      ip_address: ip,
      created_at: deps.now(),
      payload,
    })
    .execute()
}

/** Names are user metadata of up to 64 KiB. A trigger shortens the names that SQL functions write. */
const NAME_LENGTH_MAX = 120

function toPayload({ action, actor, traits }: AuditEvent): Record<string, unknown> {
  const name = actor.userMetadata.full_name
  return {
    actor_id: actor.id ?? NO_ACTOR_ID,
    actor_username: auditName(actor),
    ...(typeof name === 'string' && name !== '' ? { actor_name: name.slice(0, NAME_LENGTH_MAX).toWellFormed() } : {}),
    actor_via_sso: actor.isSsoUser,
    action,
    log_type: logTypeOf(action),
    ...(traits ? { traits } : {}),
  }
}

/**
 * Runs the work of a use case in its transaction and returns the answer for the caller. The caller may insert more rows before
 * and after the work, such as an audit log entry.
 */
export type RunWork<Result, Answer> = (trx: Trx, deps: AuditDeps, work: () => Promise<Result>) => Promise<Answer>

/** Runs the work and returns its result. */
export function runWorkAlone<Result>(_trx: Trx, _deps: AuditDeps, work: () => Promise<Result>): Promise<Result> {
  return work()
}

/** An event that a SQL function records in the database, unless that is switched off. */
export interface LoggedEvent {
  readonly action: AuditAction
  readonly actorId: string
  readonly ip: string
}

/** Writes an event to the log, if events are logged. */
export function auditToLog(deps: Omit<AuditDeps, 'now'>, { action, actorId, ip }: LoggedEvent): void {
  if (isLogged(deps)) deps.logger.info({ auth_event: { actor_id: actorId, action, ip_address: ip } }, 'audit')
}

function isLogged({ config }: Pick<AuditDeps, 'config'>): boolean {
  return config.compatibility.logAllAuthEvents || !config.database.auditInPostgres
}

/** Returns the traits of an event in which an admin changed a user (reference: Users made and changed by admins). */
export function adminTraits({ id, email, phone }: Pick<User, 'id' | 'email' | 'phone'>): Record<string, string> {
  return { user_id: id, user_email: email ?? '', user_phone: phone ?? '' }
}
