import type { OperatorActor } from '@trestle/operators/operator.ts'
import type { FoundSession, SessionLimits } from '../sessions/live-session.ts'

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
 * The operator of a session, as the database has it at this moment: its user is not banned and has a console
 * role, and a second factor was shown where one is required or set up. Undefined for any other session.
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
