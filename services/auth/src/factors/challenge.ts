import { challengeNotFound } from '../factor-errors.ts'
import type { Timestamp } from '../records/timestamp.ts'

/** A challenge of a second factor. */
export interface Challenge {
  readonly id: string
  /** The hash of the code that was sent to a phone; null for other factors. */
  readonly codeHash: Buffer | null
  /** The WebAuthn challenge that an authenticator signs; null for other factors. */
  readonly webauthn: string | null
  readonly isVerified: boolean
  /** Whether the client has the address that asked for the challenge. */
  readonly isFromHere: boolean
  readonly createdAt: Timestamp
}

/** When a challenge expires. From that moment on it takes no answer. */
export function challengeEnd(createdAt: Date, lifetimeSeconds: number): Date {
  return new Date(createdAt.getTime() + lifetimeSeconds * 1_000)
}

/** Whether a challenge may be answered (reference: Proof of a factor). The order decides which error a client sees. */
export function judgeChallenge(
  challenge: Challenge,
  now: Date,
  lifetimeSeconds: number,
): 'open' | 'mismatch' | 'expired' {
  if (challenge.isVerified || !challenge.isFromHere) return 'mismatch'
  return now < challengeEnd(new Date(challenge.createdAt), lifetimeSeconds) ? 'open' : 'expired'
}

/** Requires a challenge, as a request names it or a lookup has found it. @throws challengeNotFound */
export function requireChallenge<Found>(found: Found | undefined): Found {
  if (found === undefined) throw challengeNotFound()
  return found
}
