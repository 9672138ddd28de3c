import type { Rule, SettingValues } from '@trestle/common/config/load-config.ts'
import { duration, flag, integer, matching, oneOf, parsed, secret, url } from '@trestle/common/config/setting.ts'
import { group } from '@trestle/common/config/setting-description.ts'
import { limitStoreRule, limitStoreSettings } from '@trestle/rate-limits/limit-settings.ts'
import type { LimiterStoreSettings } from '@trestle/rate-limits/limiter-store.ts'
import type { z } from 'zod'
import type { serverSettings } from './process.ts'
import { hostList, limit, type ProfileValues, type Rate, rate } from './rules.ts'
import type { passwordSettings, signupSettings } from './sign-in.ts'

const KEY_BYTES = 32

const captchaSettings = group('Captcha', {
  SECURITY_CAPTCHA_ENABLED: flag()
    .prefault('false')
    .describe('Ask for a captcha where accounts are made and passwords are tried.'),
  SECURITY_CAPTCHA_PROVIDER: oneOf('hcaptcha', 'turnstile').prefault('hcaptcha').describe('Who checks captchas.'),
  SECURITY_CAPTCHA_SECRET: secret()
    .optional()
    .describe('Secret of the account at the provider. Required with `AUTH_SECURITY_CAPTCHA_ENABLED`.'),
  SECURITY_CAPTCHA_TIMEOUT: duration().prefault('10s').describe("Longest wait for the provider's answer."),
  SECURITY_CAPTCHA_URL: url().optional().describe("Where captchas are checked. Default: the provider's address."),
})

const protectionSettings = group('Protection', {
  SECURITY_OTP_MAX_ATTEMPTS: integer(1).prefault('10').describe('Wrong tries after which a one-time code is void.'),
  SECURITY_FAILED_ATTEMPTS: limit()
    .prefault('20')
    .describe(
      'Failed checks of passwords and codes for one account from one address in 15 minutes. For codes of second factors there is a second limit, of five times as many from all addresses together. off lifts both.',
    ),
  SECURITY_DATABASE_ENCRYPTION_KEY: encryptionKey()
    .optional()
    .meta({
      aliases: ['AUTH_SECURITY_DB_ENCRYPTION_ENCRYPTION_KEY'],
      description: 'Encrypts secrets in the database. Default: a key derived from `AUTH_JWT_SECRET`.',
    }),
  SECURITY_DATABASE_ENCRYPTION_DECRYPTION_KEYS: encryptionKeys()
    .default([])
    .meta({
      aliases: ['AUTH_SECURITY_DB_ENCRYPTION_DECRYPTION_KEYS'],
      description:
        'Earlier keys of that kind. They decrypt what they have encrypted, and encrypt nothing. An entry may be `id:key`, as supabase/auth has it.',
    }),
  SECURITY_OUTBOUND_ALLOWED_HOSTS: hostList()
    .default([])
    .describe(
      'Hosts and networks that the service may call though they are private. A name in the database that only the hosts file or a search domain knows must be listed itself.',
    ),
})

const limitSettings = group(
  { title: 'Limits', about: 'off lifts a limit.' },
  {
    RATE_LIMIT_HEADER: matching(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/, 'the name of a header')
      .optional()
      .describe(
        "Header whose value tells clients apart, in place of the client's address. Set it only where a proxy writes the header. X-Forwarded-For is read as far as `AUTH_TRUSTED_PROXIES` goes.",
      ),
    ...limitStoreSettings,
    RATE_LIMIT_EMAIL_SENT: rate()
      .prefault('30')
      .describe("Mails of the whole service. Where clients' addresses are known, one client may cause half of them."),
    RATE_LIMIT_SMS_SENT: rate()
      .prefault('30')
      .describe("SMS of the whole service. Where clients' addresses are known, one client may cause half of them."),
    RATE_LIMIT_TOKEN_REFRESH: limit().prefault('150').describe('`POST /token` of a client in 5 minutes.'),
    RATE_LIMIT_VERIFY: limit().prefault('30').describe('Verifications of a client in 5 minutes.'),
    RATE_LIMIT_OTP: limit()
      .prefault('30')
      .describe('Sign-ups, and requests for messages with codes or links, of a client in 5 minutes.'),
    RATE_LIMIT_SSO: limit()
      .prefault('30')
      .describe(
        'Sign-ins at providers, and links of identities, that a client begins in 5 minutes; and as many that come back from a provider.',
      ),
    RATE_LIMIT_PASSKEY: limit().prefault('30').describe('Calls for passkeys of a client in 5 minutes.'),
    RATE_LIMIT_ANONYMOUS_USERS: limit().prefault('30').describe('Anonymous users that a client makes in an hour.'),
  },
)

export const securitySettings = {
  ...captchaSettings,
  ...protectionSettings,
  ...limitSettings,
} as const

type SecurityValues = SettingValues<typeof securitySettings> &
  Pick<SettingValues<typeof serverSettings>, 'TRUSTED_PROXIES'> &
  Pick<
    SettingValues<typeof passwordSettings>,
    'SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION' | 'SECURITY_UPDATE_PASSWORD_REQUIRE_CURRENT_PASSWORD'
  > &
  Pick<SettingValues<typeof signupSettings>, 'SECURITY_MANUAL_LINKING_ENABLED'>

export interface SecurityConfig {
  readonly reauthenticateForPassword: boolean
  readonly currentPasswordForPassword: boolean
  readonly manualLinkingEnabled: boolean
  /** Whether users with a second factor must use it to link or unlink identities. */
  readonly factorGuardsIdentities: boolean
  /** Whether the id_token grant requires a nonce. An id_token without a nonce can be replayed. */
  readonly idTokenNonceRequired: boolean
  /** Whether an email address counts as verified if the provider could state this but does not. */
  readonly assumesVerified: boolean
  readonly captcha: CaptchaConfig | undefined
  readonly codeAttemptsMax: number
  /** `undefined` if the key is derived from the JWT secret. */
  readonly encryptionKey: Buffer | undefined
  readonly decryptionKeys: readonly Buffer[]
  /** Private hosts and networks to which outbound calls are allowed. */
  readonly outboundAllowedHosts: readonly string[]
}

export function toSecurityConfig(values: SecurityValues & ProfileValues): SecurityConfig {
  return {
    reauthenticateForPassword: values.SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION,
    currentPasswordForPassword: values.SECURITY_UPDATE_PASSWORD_REQUIRE_CURRENT_PASSWORD,
    manualLinkingEnabled: values.SECURITY_MANUAL_LINKING_ENABLED,
    factorGuardsIdentities: values.PROFILE === 'strict',
    idTokenNonceRequired: values.PROFILE === 'strict',
    assumesVerified: values.PROFILE !== 'strict',
    captcha: toCaptchaConfig(values),
    codeAttemptsMax: values.SECURITY_OTP_MAX_ATTEMPTS,
    encryptionKey: values.SECURITY_DATABASE_ENCRYPTION_KEY,
    decryptionKeys: values.SECURITY_DATABASE_ENCRYPTION_DECRYPTION_KEYS,
    outboundAllowedHosts: values.SECURITY_OUTBOUND_ALLOWED_HOSTS,
  }
}

type ClientLimit = 'token' | 'verify' | 'otp' | 'sso' | 'passkey' | 'anonymousUsers' | 'factors'

/** The settings of rate limits. `off` disables a limit. If `header` is `undefined`, limits use the client's address. */
export interface RateLimitConfig extends LimiterStoreSettings, Readonly<Record<ClientLimit, number | 'off'>> {
  readonly header: string | undefined
  readonly email: 'off' | Rate
  readonly sms: 'off' | Rate
  /** Wrong passwords and codes per quarter of an hour, for one identifier and address. */
  readonly failedChecks: number | 'off'
}

/** Returns the settings of rate limits. Header names become lower case, as in Node.js. */
export function toRateLimitConfig(
  values: SecurityValues & { readonly MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY: number | 'off' },
): RateLimitConfig {
  return {
    header: values.RATE_LIMIT_HEADER?.toLowerCase(),
    store: values.RATE_LIMIT_STORE,
    redisUrl: values.REDIS_URL,
    email: values.RATE_LIMIT_EMAIL_SENT,
    sms: values.RATE_LIMIT_SMS_SENT,
    token: values.RATE_LIMIT_TOKEN_REFRESH,
    verify: values.RATE_LIMIT_VERIFY,
    otp: values.RATE_LIMIT_OTP,
    sso: values.RATE_LIMIT_SSO,
    passkey: values.RATE_LIMIT_PASSKEY,
    anonymousUsers: values.RATE_LIMIT_ANONYMOUS_USERS,
    factors: values.MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY,
    failedChecks: values.SECURITY_FAILED_ATTEMPTS,
  }
}

export interface CaptchaConfig {
  readonly secret: string
  readonly url: string
  readonly timeoutMs: number
}

const CAPTCHA_URLS = {
  hcaptcha: 'https://hcaptcha.com/siteverify',
  turnstile: 'https://challenges.cloudflare.com/turnstile/v0/siteverify',
} as const

/** Returns `undefined` if captcha is off. */
function toCaptchaConfig(values: SecurityValues): CaptchaConfig | undefined {
  if (!values.SECURITY_CAPTCHA_ENABLED || values.SECURITY_CAPTCHA_SECRET === undefined) return undefined
  return {
    secret: values.SECURITY_CAPTCHA_SECRET,
    url: values.SECURITY_CAPTCHA_URL ?? CAPTCHA_URLS[values.SECURITY_CAPTCHA_PROVIDER],
    timeoutMs: values.SECURITY_CAPTCHA_TIMEOUT,
  }
}

/** Captcha needs its secret, and limits in Redis need the address of Redis. */
export const securityRules: readonly Rule<SecurityValues>[] = [
  (values) =>
    values.SECURITY_CAPTCHA_ENABLED && values.SECURITY_CAPTCHA_SECRET === undefined
      ? 'AUTH_SECURITY_CAPTCHA_SECRET is required when AUTH_SECURITY_CAPTCHA_ENABLED is true'
      : undefined,
  limitStoreRule('AUTH_'),
]

/** Whether limits use a header that no trusted proxy writes, so that it proves nothing about the client. */
export function followsNoProxy({
  RATE_LIMIT_HEADER: header,
  TRUSTED_PROXIES: proxies,
}: Pick<SecurityValues, 'RATE_LIMIT_HEADER' | 'TRUSTED_PROXIES'>): boolean {
  return header?.toLowerCase() === 'x-forwarded-for' && proxies === undefined
}

/** Warns about limits by X-Forwarded-For without a trusted proxy, because any client can set this header. */
export function securityWarnings(values: SecurityValues): string[] {
  return followsNoProxy(values)
    ? ['AUTH_RATE_LIMIT_HEADER is X-Forwarded-For and AUTH_TRUSTED_PROXIES is unset: limits go by the connection']
    : []
}

function encryptionKey(): z.ZodType<Buffer, string> {
  const problem = `must be base64url of ${KEY_BYTES} bytes`
  return parsed({ form: 'base64url', allowed: `${KEY_BYTES} bytes`, secret: true, problem }, readKey)
}

function encryptionKeys(): z.ZodType<readonly Buffer[], string> {
  const problem = `must be a list of base64url keys of ${KEY_BYTES} bytes`
  return parsed({ form: 'list of base64url', allowed: `${KEY_BYTES} bytes each`, secret: true, problem }, (value) => {
    const words = value.split(',').map((word) => word.trim())
    // The id before a key is its name in rows of supabase/auth. Rows of this service identify their key by a hash.
    const keys = words.filter((word) => word !== '').map((word) => readKey(word.slice(word.indexOf(':') + 1)))
    return keys.every((key) => key !== undefined) ? keys : undefined
  })
}

function readKey(value: string): Buffer | undefined {
  const key = Buffer.from(value, 'base64url')
  return /^[A-Za-z0-9_-]+={0,2}$/.test(value) && key.length === KEY_BYTES ? key : undefined
}
