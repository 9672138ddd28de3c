import type { Timestamp } from '../users/timestamp.ts'

/** A second factor of a user, without its secret. */
export interface Factor {
  readonly id: string
  readonly friendlyName: string | null
  readonly factorType: 'totp' | 'phone' | 'webauthn' | 'recovery_code'
  readonly status: 'unverified' | 'verified'
  /** E.164 digits of a phone factor, null for other types. */
  readonly phone: string | null
  readonly lastChallengedAt: Timestamp | null
  readonly createdAt: Timestamp
  readonly updatedAt: Timestamp
}
