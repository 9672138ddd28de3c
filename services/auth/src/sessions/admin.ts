import type { VerifiedClaims } from '../access-tokens/access-token.ts'
import type { AuditActor } from '../audit/audit-log.ts'
import { notAdmin } from '../errors.ts'
import { adminNeedsSecondFactor } from '../factor-errors.ts'
import { leaveToOperators, type Manager } from '../users/user.ts'
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

/** The admin that verified claims speak for. Only the role is needed. @throws notAdmin, badJwtSession */
export function toAdmin(claims: VerifiedClaims, adminRoles: readonly string[]): Admin {
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

/** Requires a role of admins, as a token or a user has it. @throws notAdmin */
export function requireAdminRole(subject: { readonly role?: unknown }, adminRoles: readonly string[]): void {
  if (!isAdmin(subject, adminRoles)) throw notAdmin()
}

/** Refuses an admin who has a second factor that the session has not shown. @throws adminNeedsSecondFactor */
export function refuseAdminWithoutFactor(): never {
  throw adminNeedsSecondFactor()
}

function readText(claim: unknown): string | null {
  return typeof claim === 'string' && claim !== '' ? claim : null
}
