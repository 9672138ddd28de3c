import type { Rule, SettingValues } from '@trestle/common/config/load-config.ts'
import { commaList, duration, flag, integer, text } from '@trestle/common/config/setting.ts'
import type { z } from 'zod'
import type { RelyingParty } from '../webauthn/ceremony.ts'

/** Contract 1.4, WebAuthn: second factors and passkeys. */
export const webauthnSettings = {
  MFA_WEBAUTHN_ENROLL_ENABLED: flag().default(false),
  MFA_WEBAUTHN_VERIFY_ENABLED: flag().default(false),
  WEBAUTHN_RP_ID: text().optional(),
  WEBAUTHN_RP_DISPLAY_NAME: text().optional(),
  WEBAUTHN_RP_ORIGINS: origins().default([]),
  WEBAUTHN_CHALLENGE_EXPIRY_DURATION: duration().default(300_000),
  PASSKEY_ENABLED: flag().default(false),
  PASSKEY_MAX_PASSKEYS_PER_USER: integer(0).default(10),
} as const

type Values = SettingValues<typeof webauthnSettings>

export function toWebauthnConfig(values: Values) {
  return {
    /** Undefined where one of its parts is missing. */
    relyingParty: toRelyingParty(values),
    challengeLifetimeMs: values.WEBAUTHN_CHALLENGE_EXPIRY_DURATION,
    passkeysEnabled: values.PASSKEY_ENABLED,
    passkeysMax: values.PASSKEY_MAX_PASSKEYS_PER_USER,
  }
}

function toRelyingParty(values: Values): RelyingParty | undefined {
  const { WEBAUTHN_RP_ID: id, WEBAUTHN_RP_DISPLAY_NAME: displayName, WEBAUTHN_RP_ORIGINS: origins } = values
  return id === undefined || displayName === undefined || origins.length === 0
    ? undefined
    : { id, displayName, origins }
}

const isOn = (values: Values): boolean =>
  values.PASSKEY_ENABLED || values.MFA_WEBAUTHN_ENROLL_ENABLED || values.MFA_WEBAUTHN_VERIFY_ENABLED

export const webauthnRules: readonly Rule<Values>[] = (
  ['WEBAUTHN_RP_ID', 'WEBAUTHN_RP_DISPLAY_NAME', 'WEBAUTHN_RP_ORIGINS'] as const
).map(
  (name) => (values) =>
    !values[name]?.length && isOn(values)
      ? `AUTH_${name} is required when passkeys or WebAuthn factors are on`
      : undefined,
)

/** Origins of pages (RFC 6454), and of Android apps. */
function origins(): z.ZodType<readonly string[], string> {
  return commaList().refine((entries) => entries.every(isOrigin), {
    error: 'must be a list of origins such as https://app.example.com',
  })
}

function isOrigin(entry: string): boolean {
  return /^android:apk-key-hash:[\w-]+$/.test(entry) || URL.parse(entry)?.origin === entry
}
