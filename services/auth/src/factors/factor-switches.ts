import type { AuthConfig } from '../config.ts'
import {
  phoneEnrolDisabled,
  phoneVerifyDisabled,
  recoveryEnrolDisabled,
  totpEnrolDisabled,
  totpVerifyDisabled,
  webauthnEnrolDisabled,
  webauthnVerifyDisabled,
} from '../factor-errors.ts'
import { type Factor, requireFactor } from './factor.ts'
import type { FactorWithSecrets } from './factor-repository.ts'

/** The types of factors that are enrolled and challenged. Recovery codes are not. */
export type EnrolledType = 'totp' | 'phone' | 'webauthn'

/** Refuses to enrol a type that is switched off. @throws totpEnrolDisabled, phoneEnrolDisabled, webauthnEnrolDisabled */
export function requireEnrolEnabled({ mfa }: Pick<AuthConfig, 'mfa'>, type: EnrolledType): void {
  if (mfa[type].enrolEnabled) return
  if (type === 'totp') throw totpEnrolDisabled()
  throw type === 'phone' ? phoneEnrolDisabled() : webauthnEnrolDisabled()
}

/** Refuses to use a type that is switched off. @throws totpVerifyDisabled, phoneVerifyDisabled, webauthnVerifyDisabled */
export function requireVerifyEnabled({ mfa }: Pick<AuthConfig, 'mfa'>, type: EnrolledType): void {
  if (mfa[type].verifyEnabled) return
  if (type === 'totp') throw totpVerifyDisabled()
  throw type === 'phone' ? phoneVerifyDisabled() : webauthnVerifyDisabled()
}

/** Refuses to make recovery codes where they are switched off. @throws recoveryEnrolDisabled */
export function requireRecoveryCodesEnabled({ mfa }: Pick<AuthConfig, 'mfa'>): void {
  if (!mfa.recoveryCodes.enrolEnabled) throw recoveryEnrolDisabled()
}

/** Requires a factor that can be challenged. Recovery codes are used without a challenge. @throws factorNotFound */
export function requireEnrolled<F extends Pick<Factor, 'factorType'>>(
  factor: F | undefined,
): F & { readonly factorType: EnrolledType } {
  return requireFactor(factor && isEnrolled(factor) ? factor : undefined)
}

/** Whether a factor can be challenged. */
export function isEnrolled<F extends Pick<Factor, 'factorType'>>(
  factor: F,
): factor is F & { readonly factorType: EnrolledType } {
  return factor.factorType !== 'recovery_code'
}

/**
 * Whether a factor has what a challenge asks for. A verified WebAuthn factor without a credential was
 * inserted by SQL of others. It is not usable, because a new credential would be a second factor that nobody
 * has shown.
 */
export function isUsable({ factorType, status, credential }: FactorWithSecrets): boolean {
  return factorType !== 'webauthn' || status === 'unverified' || credential !== null
}
