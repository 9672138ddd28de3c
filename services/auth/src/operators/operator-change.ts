import type { Operator, OperatorActor } from '@trestle/operators/operator.ts'
import { lowerRole, type OperatorAction } from '@trestle/operators/operator-roles.ts'
import type { Sealing } from '../secrets/sealed-secret.ts'
import type { Admin } from '../sessions/admin.ts'
import { type Manager, requireUser, type User } from '../users/user.ts'
import type { OperatorSession } from './operator-session.ts'
import { refuseAction, requireOperator } from './require-action.ts'

/** A change that an operator asks for (console reference: Changes). */
export interface OperatorChange {
  readonly operator: Operator
  /** The session that the operator acts with, by which they are judged when the change is made. */
  readonly session: OperatorSession
  /** The user of the path, who is changed. Undefined for a path without a user. */
  readonly userId: string | undefined
  readonly action: OperatorAction
  /** The Idempotency-Key. */
  readonly key: string
  /**
   * HMAC of method, path and body, which a repeat has in common with the first request. A hash without a key
   * would let whoever reads the database guess a password of the body.
   */
  readonly fingerprint: Buffer
  /** The same by each key of the process, since the first request may be older than the current encryption key. */
  readonly knownFingerprints: readonly Buffer[]
  /** The keys that seal the answer in the database. It may be a link that signs in, and it names users. */
  readonly sealing: Sealing
}

/** The answer to a change of an operator, and its entry in the audit log. */
export interface OperatorEffect {
  /** Below 300. */
  readonly status: number
  /** The body of the answer. */
  readonly answer: object
  /** The change, for the audit log. */
  readonly object: { readonly kind: string; readonly id: string }
  /** How it was changed, for the audit log. Never a secret. */
  readonly changes: object
}

/** The answer to a change, now or when it was first made. */
export interface OperatorAnswer {
  readonly status: number
  /** The body as JSON text. */
  readonly body: string
  readonly replayed: boolean
}

/** The operator of a change, and the action that they ask for. */
export type AskedChange = Pick<OperatorChange, 'operator' | 'action'>

/** Refuses what nobody may do to themselves. @throws operatorForbidden */
export function requireAnother({ operator, action }: AskedChange, userId: string): void {
  if (operator.actor.id === userId) refuseAction(operator.role, action)
}

/**
 * Requires that the operator of a change still is who they were when the request began.
 * @param actor the operator of the session at present
 * @throws operatorUnauthorized, and what `refuseAction` throws for a role that was lowered meanwhile
 */
export function requireSameOperator({ operator, action }: AskedChange, actor: OperatorActor | undefined): void {
  const { role } = requireOperator(actor)
  if (lowerRole(operator.role, role) !== operator.role) refuseAction(role, action)
}

interface AdminRules {
  /** AUTH_JWT_ADMIN_ROLES. */
  readonly adminRoles: readonly string[]
}

/** All operators together have the share of one client in mails and SMS, so that the messages of users go on. */
const SHARE_OF_OPERATORS = 'operators of the console'

/**
 * The operator of a change as the admin of a use case. They find no deleted user, and below the role admin
 * they act on no protected one (console reference: Console roles in auth).
 */
export function toOperatorAdmin({ operator, action }: AskedChange, rules: AdminRules): Admin {
  const { actor, role } = operator
  return {
    userId: actor.id,
    sessionId: null,
    requireMayManage: (user) => {
      requireUser(user.deletedAt === null ? user : undefined)
      if (role !== 'admin' && isProtected(user, rules)) refuseAction(role, action)
    },
    limitKey: SHARE_OF_OPERATORS,
    actor: { id: actor.id, email: actor.email, phone: null, userMetadata: {}, isSsoUser: false },
  }
}

/** The operator of a change that nobody may make to a protected user, not even an admin. They find no deleted user. */
export function requireUnprotected({ operator, action }: AskedChange, rules: AdminRules): Manager {
  return {
    requireMayManage: (user) => {
      requireUser(user.deletedAt === null ? user : undefined)
      if (isProtected(user, rules)) refuseAction(operator.role, action)
    },
  }
}

/** Whether only operators with the role admin act on a user: an operator, or an admin of the API. */
export function isProtected(
  { consoleRole, role }: Pick<User, 'consoleRole' | 'role'>,
  { adminRoles }: AdminRules,
): boolean {
  return consoleRole !== null || adminRoles.includes(role)
}
