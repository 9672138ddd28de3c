import type { AssuranceLevel, AuthenticationMethod } from '../access-tokens/access-token.ts'
import { sessionNotFound, tokenUserNotFound } from '../errors.ts'
import { listedSessionNotFound } from '../operator-errors.ts'
import type { Timestamp } from '../records/timestamp.ts'
import type { Profile } from '../users/profile-repository.ts'

/** How a session began: the first entry of its `amr` (reference: Access tokens). */
export type SignInMethod =
  | 'password'
  | 'otp'
  | 'oauth'
  | 'anonymous'
  | 'magiclink'
  | 'recovery'
  | 'invite'
  | 'email/signup'
  | 'email_change'
  | 'phone_change'
  | 'passkey'

/** The client that asks for a session, as the session's row stores it. */
export interface SessionOrigin {
  /** At most 512 characters. Null where the request has none. */
  readonly userAgent: string | null
  /** A valid IP address, or empty. */
  readonly ip: string
}

/** A session with everything that its tokens tell, without the refresh token in the clear. */
export interface StoredSession extends Profile {
  readonly sessionId: string
  readonly aal: AssuranceLevel
  /** When the sign-in was. */
  readonly startedAt: Timestamp
  /** Newest first. */
  readonly amr: readonly AuthenticationMethod[]
}

/** A session whose tokens are about to be handed out. The refresh token is known in the clear only at this moment. */
export interface IssuedSession extends StoredSession {
  readonly refreshToken: string
}

/** Requires that the session of a token still exists, as a lookup has found it. @throws sessionNotFound */
export function requireSession<Found>(session: Found | undefined): Found {
  if (session === undefined) refuseMissingSession()
  return session
}

/** Requires that an operator has ended a session that was there. @throws listedSessionNotFound */
export function requireListedSession(ended: number): void {
  if (ended === 0) throw listedSessionNotFound()
}

/** Refuses a token whose user does not exist any more. @throws tokenUserNotFound */
export function refuseMissingUser(): never {
  throw tokenUserNotFound()
}

/** Refuses a token whose session does not exist any more. @throws sessionNotFound */
export function refuseMissingSession(): never {
  throw sessionNotFound()
}
