import type { ErrorFactory } from '@trestle/common/errors/define-error.ts'
import type { AuthConfig } from '../config.ts'
import {
  phoneEnrollDisabled,
  phoneVerifyDisabled,
  totpEnrollDisabled,
  totpVerifyDisabled,
  webauthnEnrollDisabled,
  webauthnVerifyDisabled,
} from '../factor-errors.ts'
import type { Factor } from './factor.ts'

/** The types of factors that are enrolled and challenged one by one. */
export type EnrolledType = 'totp' | 'phone' | 'webauthn'

const DISABLED: Readonly<Record<EnrolledType, { readonly enroll: ErrorFactory; readonly verify: ErrorFactory }>> = {
  totp: { enroll: totpEnrollDisabled, verify: totpVerifyDisabled },
  phone: { enroll: phoneEnrollDisabled, verify: phoneVerifyDisabled },
  webauthn: { enroll: webauthnEnrollDisabled, verify: webauthnVerifyDisabled },
}

/** @throws the error of the type where its factors may not be added */
export function requireEnrollEnabled({ mfa }: Pick<AuthConfig, 'mfa'>, type: EnrolledType): void {
  if (!mfa[type].enrollEnabled) throw DISABLED[type].enroll()
}

/** @throws the error of the type where its factors may not be used */
export function requireVerifyEnabled({ mfa }: Pick<AuthConfig, 'mfa'>, type: EnrolledType): void {
  if (!mfa[type].verifyEnabled) throw DISABLED[type].verify()
}

/** A factor that can be challenged; recovery codes are used without. */
export function isEnrolled<F extends Pick<Factor, 'factorType'>>(
  factor: F,
): factor is F & { readonly factorType: EnrolledType } {
  return factor.factorType !== 'recovery_code'
}
