import type { Rule, SettingValues } from '@trestle/common/config/load-config.ts'
import { commaList, duration, flag, integer, text } from '@trestle/common/config/setting.ts'
import { group } from '@trestle/common/config/setting-description.ts'
import type { z } from 'zod'
import { parseOr, type Template } from '../messages/mail-template.ts'
import type { RelyingParty } from '../passkeys/ceremony.ts'
import { compatibilityOf } from './compatibility.ts'
import { codeLength, limit, type ProfileValues, templateText } from './rules.ts'
import { DEFAULT_SMS_TEXT } from './sms.ts'

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
    /** The number of digits. */
    readonly codeLength: number
    readonly template: Template
    readonly intervalMs: number
  }
}

/** Returns the settings of second factors. Challenges and unverified factors live at least 300 s. */
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

const factorSettings = group('Second factors', {
  MFA_WEBAUTHN_ENROLL_ENABLED: flag()
    .prefault('false')
    .meta({
      aliases: ['AUTH_MFA_WEB_AUTHN_ENROLL_ENABLED'],
      description: 'Let users add security keys and other WebAuthn authenticators.',
    }),
  MFA_WEBAUTHN_VERIFY_ENABLED: flag()
    .prefault('false')
    .meta({
      aliases: ['AUTH_MFA_WEB_AUTHN_VERIFY_ENABLED'],
      description: 'Let users show WebAuthn authenticators as a second factor.',
    }),
})

const passkeySettings = group(
  {
    title: 'Passkeys and WebAuthn',
    about:
      'The relying party is required when passkeys or WebAuthn factors are on. In the profile supabase, they are off without it.',
  },
  {
    PASSKEY_ENABLED: flag().prefault('false').describe('Let users add passkeys and sign in by them.'),
    PASSKEY_MAX_PASSKEYS_PER_USER: integer(0).prefault('10').describe('Most passkeys of a user.'),
    WEBAUTHN_RP_ID: text().optional().describe('Relying party: the domain that credentials are bound to.'),
    WEBAUTHN_RP_DISPLAY_NAME: text().optional().describe('Relying party: its name for users.'),
    WEBAUTHN_RP_ORIGINS: origins()
      .default([])
      .describe('Relying party: the origins of pages and apps that may use the credentials.'),
    WEBAUTHN_CHALLENGE_EXPIRY_DURATION: duration()
      .prefault('5m')
      .describe('How long an authenticator may take to make or use a credential.'),
  },
)

export const webauthnSettings = { ...factorSettings, ...passkeySettings } as const

type WebauthnValues = SettingValues<typeof webauthnSettings>

export interface WebauthnConfig {
  /** `undefined` if one of its parts is missing. */
  readonly relyingParty: RelyingParty | undefined
  readonly challengeLifetimeMs: number
  readonly passkeysEnabled: boolean
  readonly passkeysMax: number
}

export function toWebauthnConfig(values: WebauthnValues): WebauthnConfig {
  return {
    relyingParty: toRelyingParty(values),
    challengeLifetimeMs: values.WEBAUTHN_CHALLENGE_EXPIRY_DURATION,
    passkeysEnabled: values.PASSKEY_ENABLED && hasRelyingParty(values),
    passkeysMax: values.PASSKEY_MAX_PASSKEYS_PER_USER,
  }
}

/** Whether the relying party is complete. Otherwise passkeys and WebAuthn factors are off. */
const hasRelyingParty = (values: WebauthnValues): boolean => toRelyingParty(values) !== undefined

function toRelyingParty(values: WebauthnValues): RelyingParty | undefined {
  const { WEBAUTHN_RP_ID: id, WEBAUTHN_RP_DISPLAY_NAME: displayName, WEBAUTHN_RP_ORIGINS: origins } = values
  return id === undefined || displayName === undefined || origins.length === 0
    ? undefined
    : { id, displayName, origins }
}

const PARTS = ['WEBAUTHN_RP_ID', 'WEBAUTHN_RP_DISPLAY_NAME', 'WEBAUTHN_RP_ORIGINS'] as const

const isMissing = (values: WebauthnValues, part: (typeof PARTS)[number]): boolean => !values[part]?.length

const isOn = (values: WebauthnValues): boolean =>
  values.PASSKEY_ENABLED || values.MFA_WEBAUTHN_ENROLL_ENABLED || values.MFA_WEBAUTHN_VERIFY_ENABLED

/** Passkeys and WebAuthn factors need the name and the origins of the relying party. */
export const webauthnRules: readonly Rule<WebauthnValues & ProfileValues>[] = PARTS.map(
  (part) => (values) =>
    isMissing(values, part) && isOn(values) && compatibilityOf(values.PROFILE).refuseStartWithoutRelyingParty
      ? `AUTH_${part} is required when passkeys or WebAuthn factors are on`
      : undefined,
)

/** Warns if passkeys and WebAuthn factors are off because the relying party is not set. */
export function webauthnWarnings(values: WebauthnValues): string[] {
  const missing = PARTS.filter((part) => isMissing(values, part)).map((part) => `AUTH_${part}`)
  return isOn(values) && missing.length > 0
    ? [`passkeys and WebAuthn factors are off, because ${missing.join(', ')} is not set`]
    : []
}

/** The origins of pages (RFC 6454) and of Android apps. */
function origins(): z.ZodType<readonly string[], string> {
  const error = 'must be a list of origins such as https://app.example.com'
  return commaList()
    .refine((entries) => entries.every(isOrigin), { error })
    .meta({ form: 'list of origins' })
}

function isOrigin(entry: string): boolean {
  return /^android:apk-key-hash:[\w-]+$/.test(entry) || URL.parse(entry)?.origin === entry
}
