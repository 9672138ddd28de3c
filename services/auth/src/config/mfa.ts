import type { SettingValues } from '@trestle/common/config/load-config.ts'
import { duration, flag, integer } from '@trestle/common/config/setting.ts'
import { group } from '@trestle/common/config/setting-description.ts'
import { parseOr, type Template } from '../messages/mail-template.ts'
import { codeLength, limit, templateText } from './rules.ts'
import { DEFAULT_SMS_TEXT } from './sms.ts'
import { hasRelyingParty, type webauthnSettings } from './webauthn.ts'

/** Settings of second factors (docs/settings/auth.md): lifetimes, limits, and which types are switched on. */
export const mfaSettings = group('Second factors', {
  MFA_CHALLENGE_EXPIRY_DURATION: integer(0, undefined, 'seconds')
    .prefault('300')
    .describe('How long a challenge lives. Less than 300 counts as 300.'),
  MFA_FACTOR_EXPIRY_DURATION: duration()
    .prefault('300s')
    .describe(
      'Age from which an unverified factor without a challenge is removed when its user next enrols one. Less than 300 s counts as 300 s. Clean-up removes unverified factors after 24 hours, or after this time where it is longer.',
    ),
  MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY: limit()
    .prefault('15')
    .describe('Challenges that a client asks for in a minute, and as many checks. off lifts the limit.'),
  MFA_MAX_ENROLLED_FACTORS: integer(0).prefault('10').describe('Most factors of a user.'),
  MFA_MAX_VERIFIED_FACTORS: integer(0).prefault('10').describe('Most verified factors of a user.'),
  MFA_TOTP_ENROLL_ENABLED: flag().prefault('true').describe('Let users add authenticator apps (TOTP).'),
  MFA_TOTP_VERIFY_ENABLED: flag().prefault('true').describe('Let users show codes of authenticator apps.'),
  MFA_PHONE_ENROLL_ENABLED: flag().prefault('false').describe('Let users add phones.'),
  MFA_PHONE_VERIFY_ENABLED: flag().prefault('false').describe('Let users show codes sent by SMS.'),
  MFA_PHONE_OTP_LENGTH: codeLength().prefault('6').describe('Digits of a code sent by SMS.'),
  MFA_PHONE_TEMPLATE: templateText().prefault(DEFAULT_SMS_TEXT).describe('Text of an SMS with a code.'),
  MFA_PHONE_MAX_FREQUENCY: duration().prefault('60s').describe('Least time between two SMS with a code to one phone.'),
  MFA_RECOVERY_CODES_ENROLL_ENABLED: flag().prefault('false').describe('Let users make recovery codes.'),
  MFA_RECOVERY_CODES_VERIFY_ENABLED: flag().prefault('false').describe('Let users show recovery codes.'),
})

const LIFETIME_SECONDS_MIN = 300

type MfaValues = SettingValues<typeof mfaSettings> & SettingValues<typeof webauthnSettings>

/** The settings of second factors. */
export interface MfaConfig {
  readonly challengeLifetimeSeconds: number
  readonly unverifiedLifetimeMs: number
  readonly enrolledFactorsMax: number
  readonly verifiedFactorsMax: number
  readonly totp: {
    readonly enrolEnabled: boolean
    readonly verifyEnabled: boolean
  }
  readonly recoveryCodes: {
    readonly enrolEnabled: boolean
    readonly verifyEnabled: boolean
  }
  readonly webauthn: {
    readonly enrolEnabled: boolean
    readonly verifyEnabled: boolean
  }
  readonly phone: {
    readonly enrolEnabled: boolean
    readonly verifyEnabled: boolean
    /** In digits. */
    readonly codeLength: number
    readonly template: Template
    readonly intervalMs: number
  }
}

/** Returns the settings of second factors. Challenges and unverified factors live for at least 300 s. */
export function toMfaConfig(values: MfaValues): MfaConfig {
  return {
    challengeLifetimeSeconds: Math.max(values.MFA_CHALLENGE_EXPIRY_DURATION, LIFETIME_SECONDS_MIN),
    unverifiedLifetimeMs: Math.max(values.MFA_FACTOR_EXPIRY_DURATION, LIFETIME_SECONDS_MIN * 1_000),
    enrolledFactorsMax: values.MFA_MAX_ENROLLED_FACTORS,
    verifiedFactorsMax: values.MFA_MAX_VERIFIED_FACTORS,
    totp: { enrolEnabled: values.MFA_TOTP_ENROLL_ENABLED, verifyEnabled: values.MFA_TOTP_VERIFY_ENABLED },
    recoveryCodes: {
      enrolEnabled: values.MFA_RECOVERY_CODES_ENROLL_ENABLED,
      verifyEnabled: values.MFA_RECOVERY_CODES_VERIFY_ENABLED,
    },
    webauthn: {
      enrolEnabled: values.MFA_WEBAUTHN_ENROLL_ENABLED && hasRelyingParty(values),
      verifyEnabled: values.MFA_WEBAUTHN_VERIFY_ENABLED && hasRelyingParty(values),
    },
    phone: {
      enrolEnabled: values.MFA_PHONE_ENROLL_ENABLED,
      verifyEnabled: values.MFA_PHONE_VERIFY_ENABLED,
      codeLength: values.MFA_PHONE_OTP_LENGTH,
      template: parseOr(DEFAULT_SMS_TEXT, values.MFA_PHONE_TEMPLATE),
      intervalMs: values.MFA_PHONE_MAX_FREQUENCY,
    },
  }
}
