import { factorNotFound } from '../factor-errors.ts'
import type { Timestamp } from '../records/timestamp.ts'

/** The type of a second factor, as clients name it (reference: Second factors). */
export type FactorType = 'totp' | 'phone' | 'webauthn' | 'recovery_code'

/** The `amr` method of a second factor, by its type (reference: Second factors). */
export const FACTOR_METHODS: Readonly<Record<FactorType, string>> = {
  totp: 'totp',
  phone: 'mfa/phone',
  webauthn: 'mfa/webauthn',
  recovery_code: 'mfa/recovery_code',
}

/** A second factor of a user, without its secret. A set of recovery codes has this form too, and is always verified. */
export interface Factor {
  readonly id: string
  /** Null or empty where the user gave none. */
  readonly friendlyName: string | null
  readonly factorType: FactorType
  readonly status: 'unverified' | 'verified'
  /** E.164 digits of a phone factor, null for other types. */
  readonly phone: string | null
  readonly lastChallengedAt: Timestamp | null
  readonly createdAt: Timestamp
  readonly updatedAt: Timestamp
}

/** Requires that a factor exists, as a lookup has found it. @throws factorNotFound */
export function requireFactor<Found>(factor: Found | undefined): Found {
  if (factor === undefined) throw factorNotFound()
  return factor
}
