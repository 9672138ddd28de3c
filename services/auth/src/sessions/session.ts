import type { AuthenticationMethod } from '../access-tokens/access-token.ts'
import type { Profile } from '../users/profile.ts'
import type { Timestamp } from '../users/timestamp.ts'

/** How a session came to be: the first entry of its `amr` (reference: Access tokens). */
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

/** A session at the moment when its tokens are handed out. The only time that the refresh token is known in the clear. */
export interface IssuedSession extends Profile {
  readonly sessionId: string
  readonly aal: 'aal1' | 'aal2'
  /** When the sign-in was. */
  readonly startedAt: Timestamp
  /** Newest first. */
  readonly amr: readonly AuthenticationMethod[]
  readonly refreshToken: string
}
