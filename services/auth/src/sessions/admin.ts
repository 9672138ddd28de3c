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

/** The caller of an admin endpoint: a user with an admin's role, or an operator's token that names no user. */
export interface Admin extends Manager {
  /** Null for a token without a user. */
  readonly userId: string | null
  /** Null for a token without the claim. */
  readonly sessionId: string | null
  /** Their name in the audit log. */
  readonly actor: AuditActor
  /** The key of their share of messages. Undefined: no share, because an admin of the API may be a server that sends all. */
  readonly limitKey: string | undefined
}

/** The admin that verified claims speak for. Only the role is needed. */
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
 * Requires that a bearer is an admin's. For an operator's token the role is enough. A token of a session is valid while the
 * session is live and the user has an admin's role (reference: Admins). Where the hook CUSTOM_ACCESS_TOKEN is on, the hook may
 * have set the role, so only the session counts, which a change of role ends. An admin who has a second factor must have shown
 * it, since these endpoints can unenrol every factor.
 */
export async function checkAdmin(deps: CheckAdminDeps, claims: VerifiedClaims): Promise<Admin> {
  const admin = toAdmin(claims, deps.config.jwt.adminRoles)
  const { sessionId, userId } = admin
  if (sessionId === null) return admin
  const session = await requireLiveSession(deps, { sessionId, userId })
  if (!deps.hooks.isOn('CUSTOM_ACCESS_TOKEN')) requireAdminRole(session, deps.config.jwt.adminRoles)
  // The token may be older than the step-up by the second factor.
  const hasShownFactor = session.hasShownFactor && claims.aal === 'aal2'
  if (session.userHasFactor && !hasShownFactor) refuseAdminWithoutFactor()
  return admin
}

/** Requires that an admin's session is as fresh as SESSIONS_FRESH_FOR asks of users for their own changes. */
export async function checkFreshAdmin(
  deps: FreshSessionDeps & { readonly db: Db },
  { sessionId }: Pick<Admin, 'sessionId'>,
): Promise<void> {
  if (sessionId === null) return
  await requireFreshSession(deps.db, deps, { user: { isAnonymous: false }, session: { id: sessionId } })
}

/** The admin or operator who ends sessions, and the user who has them, locked. */
interface EndedByAdmin {
  readonly admin: Admin
  readonly user: Pick<User, 'id'>
  /** Undefined: all sessions of the user. */
  readonly sessionId?: string | undefined
  readonly ip: string
}

/**
 * Ends sessions of a user for an admin, with the work that they have started and the passkeys that they have registered. A thief
 * may have done both (reference: Work of sessions). @returns how many sessions there were
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
