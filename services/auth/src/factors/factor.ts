import type { Timestamp } from '../users/timestamp.ts'

export type FactorType = 'totp' | 'phone' | 'webauthn' | 'recovery_code'

/** What a second factor adds to the `amr` of a session (contract 5.1), by its type. */
export const FACTOR_METHODS: Readonly<Record<FactorType, string>> = {
  totp: 'totp',
  phone: 'mfa/phone',
  webauthn: 'mfa/webauthn',
  recovery_code: 'mfa/recovery_code',
}

/** A second factor of a user, without its secret. */
export interface Factor {
  readonly id: string
  readonly friendlyName: string | null
  readonly factorType: FactorType
  readonly status: 'unverified' | 'verified'
  /** E.164 digits of a phone factor, null for other types. */
  readonly phone: string | null
  readonly lastChallengedAt: Timestamp | null
  readonly createdAt: Timestamp
  readonly updatedAt: Timestamp
}
