import { isIP } from 'node:net'
import type { Rule, SettingValues } from '@trestle/common/config/load-config.ts'
import {
  commaList,
  duration,
  flag,
  integer,
  oneOf,
  secret,
  text,
  trustedProxies,
  url,
} from '@trestle/common/config/setting.ts'
import { z } from 'zod'
import type { ProfileValues } from './profile.ts'
import { limit, matching, rate } from './rules.ts'

const KEY_BYTES = 32

/** Contract 1.4, without what concerns sessions and passwords (sessions.ts) and later features. */
export const securitySettings = {
  SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION: flag().default(false),
  SECURITY_UPDATE_PASSWORD_REQUIRE_CURRENT_PASSWORD: flag().default(false),
  SECURITY_MANUAL_LINKING_ENABLED: flag().default(false),
  SECURITY_CAPTCHA_ENABLED: flag().default(false),
  SECURITY_CAPTCHA_PROVIDER: oneOf('hcaptcha', 'turnstile').default('hcaptcha'),
  SECURITY_CAPTCHA_SECRET: secret().optional(),
  SECURITY_CAPTCHA_TIMEOUT: duration().default(10_000),
  SECURITY_CAPTCHA_URL: url().optional(),
  SECURITY_FORWARDED_FOR_ENABLED: flag().default(false),
  TRUSTED_PROXIES: trustedProxies().optional(),
  SECURITY_OTP_MAX_ATTEMPTS: integer(1).default(10),
  SECURITY_FAILED_ATTEMPTS: limit().default(20),
  SECURITY_DATABASE_ENCRYPTION_KEY: encryptionKey().optional(),
  SECURITY_DATABASE_ENCRYPTION_DECRYPTION_KEYS: encryptionKeys().default([]),
  SECURITY_OUTBOUND_ALLOWED_HOSTS: hostList().default([]),
  RATE_LIMIT_HEADER: matching(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/, 'the name of a header').optional(),
  RATE_LIMIT_STORE: oneOf('memory', 'postgres', 'redis').default('memory'),
  REDIS_URL: secret(url('redis', 'rediss')).optional(),
  RATE_LIMIT_EMAIL_SENT: rate().default({ points: 30, windowMs: 3_600_000 }),
  RATE_LIMIT_SMS_SENT: rate().default({ points: 30, windowMs: 3_600_000 }),
  RATE_LIMIT_TOKEN_REFRESH: limit().default(150),
  RATE_LIMIT_VERIFY: limit().default(30),
  RATE_LIMIT_OTP: limit().default(30),
  RATE_LIMIT_SSO: limit().default(30),
  RATE_LIMIT_PASSKEY: limit().default(30),
  RATE_LIMIT_ANONYMOUS_USERS: limit().default(30),
} as const

type Values = SettingValues<typeof securitySettings>

export function toSecurityConfig(values: Values & ProfileValues) {
  return {
    reauthenticateForPassword: values.SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION,
    currentPasswordForPassword: values.SECURITY_UPDATE_PASSWORD_REQUIRE_CURRENT_PASSWORD,
    manualLinkingEnabled: values.SECURITY_MANUAL_LINKING_ENABLED,
    /** Whether who has a second factor must show it to change their identities, as for everything else. */
    factorGuardsIdentities: values.PROFILE === 'strict',
    /** Whether the id_token grant takes no token without the nonce that it was asked for with: it could be replayed. */
    idTokenNonceRequired: values.PROFILE === 'strict',
    /** Whether an address at a provider counts as verified where the provider could say so, and does not. */
    assumesVerified: values.PROFILE === 'compatible',
    captcha: toCaptchaConfig(values),
    forwardedForEnabled: values.SECURITY_FORWARDED_FOR_ENABLED,
    /** Undefined: nobody has said what stands in front, and none is trusted. */
    trustedProxies: values.TRUSTED_PROXIES,
    codeAttemptsMax: values.SECURITY_OTP_MAX_ATTEMPTS,
    /** Undefined: derived from the JWT secret. */
    encryptionKey: values.SECURITY_DATABASE_ENCRYPTION_KEY,
    decryptionKeys: values.SECURITY_DATABASE_ENCRYPTION_DECRYPTION_KEYS,
    /** Hosts and CIDRs that outbound calls may reach though they are private. */
    outboundAllowedHosts: values.SECURITY_OUTBOUND_ALLOWED_HOSTS,
  }
}

export type RateLimitConfig = ReturnType<typeof toRateLimitConfig>

export function toRateLimitConfig(values: Values & { readonly MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY: number | 'off' }) {
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
    /** Failed checks of passwords and codes in a quarter of an hour, for an identifier and an address. */
    failures: values.SECURITY_FAILED_ATTEMPTS,
  }
}

/** Where a captcha token is checked. */
export interface CaptchaConfig {
  readonly secret: string
  readonly url: string
  readonly timeoutMs: number
}

const CAPTCHA_URLS = {
  hcaptcha: 'https://hcaptcha.com/siteverify',
  turnstile: 'https://challenges.cloudflare.com/turnstile/v0/siteverify',
} as const

/** Undefined while captcha is off. */
function toCaptchaConfig(values: Values): CaptchaConfig | undefined {
  if (!values.SECURITY_CAPTCHA_ENABLED || values.SECURITY_CAPTCHA_SECRET === undefined) return undefined
  return {
    secret: values.SECURITY_CAPTCHA_SECRET,
    url: values.SECURITY_CAPTCHA_URL ?? CAPTCHA_URLS[values.SECURITY_CAPTCHA_PROVIDER],
    timeoutMs: values.SECURITY_CAPTCHA_TIMEOUT,
  }
}

export const securityRules: readonly Rule<Values>[] = [
  (values) =>
    values.SECURITY_CAPTCHA_ENABLED && values.SECURITY_CAPTCHA_SECRET === undefined
      ? 'AUTH_SECURITY_CAPTCHA_SECRET is required when AUTH_SECURITY_CAPTCHA_ENABLED is true'
      : undefined,
  (values) =>
    values.RATE_LIMIT_STORE === 'redis' && values.REDIS_URL === undefined
      ? 'AUTH_REDIS_URL is required when AUTH_RATE_LIMIT_STORE is redis'
      : undefined,
]

/** Whether limits go by a header that says nothing about the client, because no proxy is trusted to write it. */
export function followsNoProxy({
  RATE_LIMIT_HEADER: header,
  TRUSTED_PROXIES: proxies,
}: Pick<Values, 'RATE_LIMIT_HEADER' | 'TRUSTED_PROXIES'>): boolean {
  return header?.toLowerCase() === 'x-forwarded-for' && proxies === undefined
}

export function securityWarnings(values: Values): string[] {
  return followsNoProxy(values)
    ? ['AUTH_RATE_LIMIT_HEADER is X-Forwarded-For and AUTH_TRUSTED_PROXIES is unset: limits go by the connection']
    : []
}

/** Host names, addresses and CIDRs. */
function hostList(): z.ZodType<readonly string[], string> {
  return commaList().refine((entries) => entries.every(isHostOrNetwork), {
    error: 'must be a list of hosts and networks such as 10.0.0.0/8',
  })
}

function isHostOrNetwork(entry: string): boolean {
  const [host = '', bits, ...rest] = entry.split('/')
  const version = isIP(host)
  if (bits === undefined) return version !== 0 || /^[a-z0-9._-]+$/i.test(host)
  return version !== 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128) && rest.length === 0
}

function encryptionKey(): z.ZodType<Buffer, string> {
  return text()
    .meta({ secret: true })
    .transform((value, context) => {
      const key = Buffer.from(value, 'base64url')
      if (/^[A-Za-z0-9_-]+={0,2}$/.test(value) && key.length === KEY_BYTES) return key
      context.addIssue({ code: 'custom', message: `must be base64url of ${KEY_BYTES} bytes` })
      return z.NEVER
    })
}

function encryptionKeys(): z.ZodType<readonly Buffer[], string> {
  return commaList()
    .meta({ secret: true })
    .transform((values, context) => {
      const keys = values.map((value) => encryptionKey().safeParse(value).data)
      if (keys.every((key) => key !== undefined)) return keys
      context.addIssue({ code: 'custom', message: `must be a list of base64url keys of ${KEY_BYTES} bytes` })
      return z.NEVER
    })
}
