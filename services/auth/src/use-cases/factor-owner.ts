import { sessionNotFound } from '../errors.ts'
import { anonymousNotAllowed } from '../factor-errors.ts'
import type { ActiveCaller } from '../sessions/active-caller.ts'
import type { Session } from '../sessions/session-repository.ts'
import type { User } from '../users/user.ts'

/** A caller who may manage second factors. */
export interface FactorOwner {
  readonly user: User
  readonly session: Session
}

/**
 * Requires a session and a user who is not anonymous. A factor is for users who can sign in again, and its proof belongs to a session
 * (reference: Live sessions). @throws sessionNotFound, anonymousNotAllowed
 */
export function requireFactorOwner({ user, session }: ActiveCaller): FactorOwner {
  if (session === undefined) throw sessionNotFound()
  if (user.isAnonymous) throw anonymousNotAllowed()
  return { user, session }
}
