import type { Timestamp } from '../users/timestamp.ts'

/** What a second factor was asked. */
export interface Challenge {
  readonly id: string
  /** Of the code that was sent to a phone; null for factors to which nothing is sent. */
  readonly codeHash: Buffer | null
  /** What an authenticator was asked to sign; null for other factors. */
  readonly webauthn: string | null
  readonly isVerified: boolean
  /** Whether it was made for the address that asks now. */
  readonly isFromHere: boolean
  readonly createdAt: Timestamp
}

/** When a challenge ends. */
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
