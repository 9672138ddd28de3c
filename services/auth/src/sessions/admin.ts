import type { VerifiedClaims } from '../access-tokens/access-token.ts'
import { type AuditActor, type AuditDeps, recordAudit } from '../audit/audit-log.ts'
import type { Db, Trx } from '../database.ts'
import { notAdmin } from '../errors.ts'
import { adminNeedsSecondFactor } from '../factor-errors.ts'
import { callEndSessionWork } from '../flows/flow-repository.ts'
import type { Hooks } from '../hooks/hooks.ts'
import { deletePasskeysOfSessions } from '../passkeys/passkey-repository.ts'
import { leaveToOperators, type Manager, type User } from '../users/user.ts'
import {
  type FreshSessionDeps,
  type LiveSessionDeps,
  requireFreshSession,
  requireLiveSession,
} from './active-caller.ts'
import { deleteListedSessions } from './listed-session-repository.ts'
import { isAdmin, readSessionId, readUserId } from './token-user.ts'

/** The caller of an admin endpoint: a user with an admin role, or an operator's token that names no user. */
export interface Admin extends Manager {
  /** `null` for a token without a user. */
  readonly userId: string | null
  /** `null` for a token without the claim. */
  readonly sessionId: string | null
  /** The actor in the audit log. */
  readonly actor: AuditActor
  /** The key for the limit of messages. `undefined`: no limit, because the admin may be a server that sends all messages. */
  readonly limitKey: string | undefined
}

/** Returns the admin of verified claims. Only the role is required. */
function toAdmin(claims: VerifiedClaims, adminRoles: readonly string[]): Admin {
  requireAdminRole(claims, adminRoles)
  const userId = readUserId(claims)
  const { role, email, phone } = claims
  return {
    userId,
    sessionId: readSessionId(claims),
    requireMayManage: leaveToOperators,
    limitKey: undefined,
    actor: {
      id: userId,
      email: readText(email) ?? readText(role),
      phone: readText(phone),
      userMetadata: {},
      isSsoUser: false,
    },
  }
}

function requireAdminRole(subject: { readonly role?: unknown }, adminRoles: readonly string[]): void {
  if (!isAdmin(subject, adminRoles)) throw notAdmin()
}

export function refuseAdminWithoutFactor(): never {
  throw adminNeedsSecondFactor()
}

function readText(claim: unknown): string | null {
  return typeof claim === 'string' && claim !== '' ? claim : null
}

interface CheckAdminDeps extends LiveSessionDeps {
  readonly config: LiveSessionDeps['config'] & { readonly jwt: { readonly adminRoles: readonly string[] } }
  readonly hooks: Pick<Hooks, 'isOn'>
}

/**
 * Requires a bearer token of an admin. For an operator's token the role is sufficient. A token of a session is valid while the
 * session is live and the user has an admin role (reference: Admins). If the hook CUSTOM_ACCESS_TOKEN is on, the hook may have
 * set the role. Then only the session counts, which a change of role ends. An admin with a second factor must have used it,
 * because these endpoints can unenrol every factor.
 */
export async function checkAdmin(deps: CheckAdminDeps, claims: VerifiedClaims): Promise<Admin> {
  const admin = toAdmin(claims, deps.config.jwt.adminRoles)
  const { sessionId, userId } = admin
  if (sessionId === null) return admin
  const session = await requireLiveSession(deps, { sessionId, userId })
  if (!deps.hooks.isOn('CUSTOM_ACCESS_TOKEN')) requireAdminRole(session, deps.config.jwt.adminRoles)
  // The token may have been issued before the step-up.
  const hasShownFactor = session.hasShownFactor && claims.aal === 'aal2'
  if (session.userHasFactor && !hasShownFactor) refuseAdminWithoutFactor()
  return admin
}

/** Requires that an admin's session is within SESSIONS_FRESH_FOR, as for users who change their own account. */
export async function checkFreshAdmin(
  deps: FreshSessionDeps & { readonly db: Db },
  { sessionId }: Pick<Admin, 'sessionId'>,
): Promise<void> {
  if (sessionId === null) return
  await requireFreshSession(deps.db, deps, { user: { isAnonymous: false }, session: { id: sessionId } })
}

/** The admin or operator who ends sessions, and the locked user who has them. */
interface EndedByAdmin {
  readonly admin: Admin
  readonly user: Pick<User, 'id'>
  /** `undefined` means all sessions of the user. */
  readonly sessionId?: string | undefined
  readonly ip: string
}

/**
 * Ends sessions of a user for an admin, and deletes pending work and passkeys that they have started or registered. A thief may
 * have created both (reference: Work of sessions). @returns the number of ended sessions
 */
export async function endSessionsByAdmin(
  trx: Trx,
  deps: AuditDeps,
  { admin, user, sessionId, ip }: EndedByAdmin,
): Promise<number> {
  for (const passkeyId of await deletePasskeysOfSessions(trx, user.id, sessionId)) {
    const traits = { user_id: user.id, passkey_id: passkeyId }
    await recordAudit(trx, deps, { action: 'passkey_deleted', actor: admin.actor, target: user, ip, traits })
  }
  const ended = await deleteListedSessions(trx, user.id, sessionId)
  await callEndSessionWork(trx, user.id, sessionId === undefined ? { scope: 'all' } : { scope: 'session', sessionId })
  return ended
}
