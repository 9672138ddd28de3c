import type { ErrorFactory } from '@trestle/common/errors/define-error.ts'
import type { AuthConfig } from '../config.ts'
import {
  phoneEnrolDisabled,
  phoneVerifyDisabled,
  totpEnrolDisabled,
  totpVerifyDisabled,
  webauthnEnrolDisabled,
  webauthnVerifyDisabled,
} from '../factor-errors.ts'
import type { Factor } from './factor.ts'
import type { FactorWithSecrets } from './factor-repository.ts'

/** The types of factors that are enrolled and challenged. Recovery codes are not. */
export type EnrolledType = 'totp' | 'phone' | 'webauthn'

const DISABLED: Readonly<Record<EnrolledType, { readonly enrol: ErrorFactory; readonly verify: ErrorFactory }>> = {
  totp: { enrol: totpEnrolDisabled, verify: totpVerifyDisabled },
  phone: { enrol: phoneEnrolDisabled, verify: phoneVerifyDisabled },
  webauthn: { enrol: webauthnEnrolDisabled, verify: webauthnVerifyDisabled },
}

/** Refuses to enrol a type that is switched off. @throws totpEnrolDisabled, phoneEnrolDisabled, webauthnEnrolDisabled */
export function requireEnrolEnabled({ mfa }: Pick<AuthConfig, 'mfa'>, type: EnrolledType): void {
  if (!mfa[type].enrolEnabled) throw DISABLED[type].enrol()
}

/** Refuses to use a type that is switched off. @throws totpVerifyDisabled, phoneVerifyDisabled, webauthnVerifyDisabled */
export function requireVerifyEnabled({ mfa }: Pick<AuthConfig, 'mfa'>, type: EnrolledType): void {
  if (!mfa[type].verifyEnabled) throw DISABLED[type].verify()
}

/** Whether a factor can be challenged. Recovery codes are used without a challenge. */
export function isEnrolled<F extends Pick<Factor, 'factorType'>>(
  factor: F,
): factor is F & { readonly factorType: EnrolledType } {
  return factor.factorType !== 'recovery_code'
}

/**
 * Whether a factor has what a challenge asks for. A verified WebAuthn factor without a credential was inserted by SQL of others. It
 * is not usable, because a new credential would be a second factor that nobody has shown.
 */
export function isUsable({ factorType, status, credential }: FactorWithSecrets): boolean {
  return factorType !== 'webauthn' || status === 'unverified' || credential !== null
}
