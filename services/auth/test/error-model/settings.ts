import { startStubProvider } from '@trestle/testing/stub-provider.ts'
import { afterAll } from 'vitest'
import { startAnybodyProvider } from '../external/anybody-provider.ts'
import { startOpenIdServer } from '../external/openid-server.ts'
import { startHookStub } from '../hook-stub.ts'

// The settings of services. Opening a service takes longer than most cases, so cases with compatible settings share one.
type Settings = Readonly<Record<string, string>>

/** A provider that accepts any account. */
const anybody = await startAnybodyProvider()
/** A provider with invalid responses. */
const broken = await startStubProvider(() => ({ body: 'no JSON' }))
/** A gateway that rejects every SMS. */
const refusing = await startStubProvider(() => ({ status: 400, body: { message: 'no such number' } }))
/** A captcha provider that rejects every token. */
const suspicious = await startStubProvider(() => ({
  body: { success: false, 'error-codes': ['invalid-input-response'] },
}))
/** A provider that signs the tokens that a case needs. */
export const openId = await startOpenIdServer()
/** Hooks with responses that the cases set. */
export const hooks = await startHookStub()
afterAll(() =>
  Promise.all([anybody, broken, refusing, suspicious, hooks].map(({ close }) => close()).concat(openId.stop())),
)

/** The settings of an enabled provider. */
const client = (name: string, id: string): Settings => ({
  [`AUTH_EXTERNAL_${name}_ENABLED`]: 'true',
  [`AUTH_EXTERNAL_${name}_CLIENT_ID`]: id,
  [`AUTH_EXTERNAL_${name}_SECRET`]: 'secret',
  [`AUTH_EXTERNAL_${name}_REDIRECT_URI`]: 'http://localhost:8081/callback',
})

const PASSKEYS = {
  AUTH_PASSKEY_ENABLED: 'true',
  AUTH_PASSKEY_MAX_PASSKEYS_PER_USER: '1',
  AUTH_MFA_WEBAUTHN_ENROLL_ENABLED: 'true',
  AUTH_MFA_WEBAUTHN_VERIFY_ENABLED: 'true',
  AUTH_WEBAUTHN_RP_ID: 'app.example.com',
  AUTH_WEBAUTHN_RP_DISPLAY_NAME: 'The App',
  AUTH_WEBAUTHN_RP_ORIGINS: 'https://app.example.com',
}

/** All features that are off by default. GitLab is broken, and used limits do not recover during a test. */
export const FEATURES: Settings = {
  ...PASSKEYS,
  ...anybody.settings,
  ...client('TWITTER', 'client'),
  AUTH_EXTERNAL_GITLAB_URL: broken.url,
  AUTH_CUSTOM_OAUTH_ENABLED: 'true',
  AUTH_CUSTOM_OAUTH_MAX_PROVIDERS: '0',
  AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'true',
  AUTH_MFA_RECOVERY_CODES_ENROLL_ENABLED: 'true',
  AUTH_MFA_RECOVERY_CODES_VERIFY_ENABLED: 'true',
  AUTH_MFA_PHONE_ENROLL_ENABLED: 'true',
  AUTH_MFA_PHONE_VERIFY_ENABLED: 'true',
  AUTH_RATE_LIMIT_TOKEN_REFRESH: '1',
  AUTH_RATE_LIMIT_VERIFY: '1',
  AUTH_RATE_LIMIT_OTP: '1',
  AUTH_RATE_LIMIT_SSO: '1',
  AUTH_RATE_LIMIT_PASSKEY: '1',
  AUTH_MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY: '1',
}

/** Rules that differ from the defaults, most of them stricter. */
export const RULES: Settings = {
  AUTH_CUSTOM_OAUTH_ENABLED: 'true',
  AUTH_CUSTOM_OAUTH_MAX_PROVIDERS: '1',
  AUTH_MAILER_SECURE_EMAIL_CHANGE_ENABLED: 'false',
  AUTH_MFA_MAX_VERIFIED_FACTORS: '1',
  AUTH_PASSWORD_REQUIRED_CHARACTERS: 'abc:123',
  AUTH_SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION: 'true',
  AUTH_SESSIONS_ALLOW_LOW_AAL: '1h',
  AUTH_SESSIONS_FRESH_FOR: '15m',
  AUTH_SESSIONS_INACTIVITY_TIMEOUT: '12h',
  AUTH_SESSIONS_SINGLE_PER_USER: 'true',
  AUTH_SESSIONS_TIMEBOX: '24h',
  AUTH_SMS_TWILIO_API_URL: refusing.url,
}

/** Settings without authenticator apps and SMS. Emails need no confirmation. Access tokens of ended sessions are rejected. */
export const NO_CODES: Settings = {
  AUTH_MAILER_AUTOCONFIRM: 'true',
  AUTH_MFA_TOTP_ENROLL_ENABLED: 'false',
  AUTH_MFA_TOTP_VERIFY_ENABLED: 'false',
  AUTH_SESSIONS_ENFORCE_ON_ACCESS_TOKEN: 'true',
  AUTH_SMS_PROVIDER: '',
}

/** All sign-in methods are off. */
export const NO_METHODS: Settings = {
  AUTH_EXTERNAL_EMAIL_ENABLED: 'false',
  AUTH_EXTERNAL_PHONE_ENABLED: 'false',
  AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'false',
}
/** Settings that allow no sign-ups, neither by password nor from a provider. */
export const NO_SIGNUP: Settings = { ...anybody.settings, AUTH_DISABLE_SIGNUP: 'true' }
/** Settings that allow no mail and no SMS. */
export const NO_MESSAGES: Settings = { AUTH_RATE_LIMIT_EMAIL_SENT: '0', AUTH_RATE_LIMIT_SMS_SENT: '0' }
export const STRICT: Settings = { AUTH_PROFILE: 'strict', AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'true' }

/** Providers with tokens that `openId` signs. */
export const ID_TOKENS: Settings = { ...client('GOOGLE', 'web.apps.example'), ...client('GITHUB', 'github-client') }

/** Hooks that `hooks` answers. */
export const HOOKS: Settings = {
  ...PASSKEYS,
  ...hooks.settings(
    'BEFORE_USER_CREATED',
    'CUSTOM_ACCESS_TOKEN',
    'MFA_VERIFICATION_ATTEMPT',
    'PASSWORD_VERIFICATION_ATTEMPT',
  ),
}

/** Mails through `hooks`, which the request itself calls. */
export const MAILS_IN_REQUEST: Settings = { AUTH_PROFILE: 'supabase', ...hooks.settings('SEND_EMAIL') }

const CAPTCHA = { AUTH_SECURITY_CAPTCHA_ENABLED: 'true', AUTH_SECURITY_CAPTCHA_SECRET: 'captcha secret' }
/** A captcha with an unavailable provider. */
export const CAPTCHA_AWAY: Settings = { ...CAPTCHA, AUTH_SECURITY_CAPTCHA_URL: 'http://127.0.0.1:1' }
/** A CAPTCHA whose provider refuses. */
export const CAPTCHA_REFUSED: Settings = { ...CAPTCHA, AUTH_SECURITY_CAPTCHA_URL: suspicious.url }
