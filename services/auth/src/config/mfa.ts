import type { SettingValues } from '@trestle/common/config/load-config.ts'
import { duration, flag, integer } from '@trestle/common/config/setting.ts'
import { parseTemplate } from '../mail/mail-template.ts'
import { codeLength, limit, templateText } from './rules.ts'
import type { webauthnSettings } from './webauthn.ts'

/** Contract 1.4, second factors. */
export const mfaSettings = {
  MFA_CHALLENGE_EXPIRY_DURATION: integer(0).default(300),
  MFA_FACTOR_EXPIRY_DURATION: duration().default(300_000),
  MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY: limit().default(15),
  MFA_MAX_ENROLLED_FACTORS: integer(0).default(10),
  MFA_MAX_VERIFIED_FACTORS: integer(0).default(10),
  MFA_TOTP_ENROLL_ENABLED: flag().default(true),
  MFA_TOTP_VERIFY_ENABLED: flag().default(true),
  MFA_PHONE_ENROLL_ENABLED: flag().default(false),
  MFA_PHONE_VERIFY_ENABLED: flag().default(false),
  MFA_PHONE_OTP_LENGTH: codeLength().default(6),
  MFA_PHONE_TEMPLATE: templateText().default(parseTemplate('Your code is {{ .Code }}')),
  MFA_PHONE_MAX_FREQUENCY: duration().default(60_000),
  MFA_RECOVERY_CODES_ENROLL_ENABLED: flag().default(false),
  MFA_RECOVERY_CODES_VERIFY_ENABLED: flag().default(false),
} as const

const LIFETIME_MIN_SECONDS = 300

type Values = SettingValues<typeof mfaSettings> &
  Pick<SettingValues<typeof webauthnSettings>, 'MFA_WEBAUTHN_ENROLL_ENABLED' | 'MFA_WEBAUTHN_VERIFY_ENABLED'>

export function toMfaConfig(values: Values) {
  return {
    challengeLifetimeSeconds: Math.max(values.MFA_CHALLENGE_EXPIRY_DURATION, LIFETIME_MIN_SECONDS),
    unverifiedLifetimeMs: Math.max(values.MFA_FACTOR_EXPIRY_DURATION, LIFETIME_MIN_SECONDS * 1_000),
    enrolledFactorsMax: values.MFA_MAX_ENROLLED_FACTORS,
    verifiedFactorsMax: values.MFA_MAX_VERIFIED_FACTORS,
    totp: { enrollEnabled: values.MFA_TOTP_ENROLL_ENABLED, verifyEnabled: values.MFA_TOTP_VERIFY_ENABLED },
    recoveryCodes: {
      enrollEnabled: values.MFA_RECOVERY_CODES_ENROLL_ENABLED,
      verifyEnabled: values.MFA_RECOVERY_CODES_VERIFY_ENABLED,
    },
    webauthn: {
      enrollEnabled: values.MFA_WEBAUTHN_ENROLL_ENABLED,
      verifyEnabled: values.MFA_WEBAUTHN_VERIFY_ENABLED,
    },
    phone: {
      enrollEnabled: values.MFA_PHONE_ENROLL_ENABLED,
      verifyEnabled: values.MFA_PHONE_VERIFY_ENABLED,
      codeLength: values.MFA_PHONE_OTP_LENGTH,
      template: values.MFA_PHONE_TEMPLATE,
      intervalMs: values.MFA_PHONE_MAX_FREQUENCY,
    },
  }
}
