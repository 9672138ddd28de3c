import type { Operator, OperatorActor } from '@trestle/operators/operator.ts'
import { lowerRole, mayDo, type OperatorAction, type OperatorRole } from '@trestle/operators/operator-roles.ts'
import type { SigningKeyStatus } from '../access-tokens/signing-key-repository.ts'
import { viewSigningKey } from '../access-tokens/signing-key-view.ts'
import { operatorForbidden, operatorUnauthorized, signingKeyNotFound } from '../operator-errors.ts'
import type { Sealing } from '../secrets/sealed-secret.ts'
import type { FoundSession, SessionLimits } from '../sessions/active-caller.ts'
import type { Admin } from '../sessions/admin.ts'
import { type Manager, requireUser, type User } from '../users/user.ts'

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
   * HMAC of method, path and body, which a repeat has in common with the first request. With a hash without a key, anyone who
   * reads the database could guess a password of the body.
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

/** Refuses an act that operators may not do to themselves. */
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

/** Requires that the role of an operator may do an action (console reference: Actions). */
export function requireAction(role: OperatorRole, action: OperatorAction): void {
  if (!mayDo(role, action)) refuseAction(role, action)
}

/** Refuses an operator whose role may not do an action, or not to this user. @throws operatorForbidden */
function refuseAction(role: OperatorRole, action: OperatorAction): never {
  throw operatorForbidden({ details: { action, role } })
}

/** Requires the operator of a request. @throws operatorUnauthorized */
export function requireOperator<Found>(found: Found | undefined): Found {
  if (found === undefined) throw operatorUnauthorized()
  return found
}

/**
 * The answer and the audit entry for a change of a signing key. The answer is the key as it is after the change.
 * @param changes how the key was changed, for the audit log
 */
export function toKeyEffect(key: SigningKeyStatus, changes: object, status = 200): OperatorEffect {
  return { status, answer: { key: viewSigningKey(key) }, object: { kind: 'signing-key', id: key.kid }, changes }
}

/** Refuses a kid that no key ever had. @throws signingKeyNotFound */
export function refuseUnknownKey(): never {
  throw signingKeyNotFound()
}

/** The session that an operator acts with, as their access token names it, and the rules by which it is judged. */
export interface OperatorSession {
  readonly userId: string
  readonly sessionId: string
  /** Whether the token is of level aal2. */
  readonly hasRaisedToken: boolean
  readonly limits: SessionLimits
  /** AUTH_OPERATOR_REQUIRE_MFA. */
  readonly mfaRequired: boolean
}

/**
 * The operator of a session, as the database has it now: the user is not banned and has a console role, and has shown a second
 * factor if one is required or set up. Undefined for any other session.
 */
export function toOperatorActor(
  { userId: id, hasRaisedToken, mfaRequired }: OperatorSession,
  session: FoundSession | undefined,
): OperatorActor | undefined {
  if (!session || session.isBanned || session.email === null || session.consoleRole === null) return undefined
  const hasShownFactor = hasRaisedToken && session.hasShownFactor
  // An operator who has set up a factor shows it, as an admin does: otherwise a password alone would be worth
  // more than its owner believes.
  if ((mfaRequired || session.userHasFactor) && !hasShownFactor) return undefined
  return { id, email: session.email, role: session.consoleRole }
}
