import { type EnvironmentOptions, readEnvironment } from '@trestle/common/config/environment.ts'
import type { Rule, SettingValues } from '@trestle/common/config/load-config.ts'
import {
  duration,
  flag,
  integer,
  oneOf,
  type Setting,
  type Settings,
  secret,
  text,
} from '@trestle/common/config/setting.ts'
import { family, group } from '@trestle/common/config/setting-description.ts'
import { isSetByKubernetes } from '@trestle/common/config/unknown-settings.ts'
import { z } from 'zod'
import { PROFILES, SETTING_DEFAULTS } from './compatibility.ts'
import { externalSettings, PROVIDERS, toUpperCase } from './external.ts'
import { roleProblem } from './jwt.ts'
import { mailSettings, NOTIFICATIONS } from './mail.ts'
import { databaseSettings, type serverSettings } from './process.ts'
import { addressList, lifetimeSeconds, limit, type ProfileValues } from './rules.ts'
import { followsNoProxy, type securitySettings } from './security.ts'
import { passwordSettings, sessionSettings } from './sign-in.ts'

/** Read first, because the profile decides which values other settings may have (decision 16). */
export const profileSettings = group('Profile', {
  PROFILE: oneOf(...PROFILES)
    .prefault('compatible')
    .describe(
      'Default: `compatible`; `supabase` where a name begins with `GOTRUE_`. `compatible` is what clients of GoTrue expect. `strict` narrows settings and has stricter defaults. `supabase` behaves as supabase/auth does today. The reference of auth says what each of them changes.',
    ),
})

const MINUTE_MS = 60_000
const DAY_MS = 1_440 * MINUTE_MS
const SECRET_BYTES_MIN = 32
const CODE_ATTEMPTS_MAX = 100

/** The settings with narrower limits in the strict profile, with their limits and defaults there. */
export const strictSettings = {
  URI_ALLOW_LIST: addressList().default([]),
  PASSWORD_MIN_LENGTH: integer(8, 72).prefault('15'),
  PASSWORD_HASH: oneOf('argon2id').prefault('argon2id'),
  PASSWORD_REQUIRED_CHARACTERS: forbiddenSetting(text(), ''),
  SECURITY_UPDATE_PASSWORD_REQUIRE_CURRENT_PASSWORD: fixedFlag('true'),
  SECURITY_FAILED_ATTEMPTS: requiredLimit('20')
    .refine((count) => count <= CODE_ATTEMPTS_MAX, {
      error: `must be at most ${CODE_ATTEMPTS_MAX} in the strict profile`,
    })
    .meta({ allowed: `at most ${CODE_ATTEMPTS_MAX}` }),
  SECURITY_OTP_MAX_ATTEMPTS: integer(1, 10).prefault('10'),
  RATE_LIMIT_TOKEN_REFRESH: requiredLimit('150'),
  RATE_LIMIT_VERIFY: requiredLimit('30'),
  RATE_LIMIT_OTP: requiredLimit('30'),
  RATE_LIMIT_PASSKEY: requiredLimit('30'),
  RATE_LIMIT_ANONYMOUS_USERS: requiredLimit('30'),
  MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY: requiredLimit('15'),
  SECURITY_REFRESH_TOKEN_ROTATION_ENABLED: fixedFlag('true'),
  SECURITY_REFRESH_TOKEN_REUSE_INTERVAL: duration()
    .refine((ms) => ms <= 10_000, { error: 'must be at most 10s in the strict profile' })
    .meta({ allowed: 'at most 10s' })
    .prefault('0s'),
  SESSIONS_TIMEBOX: limitedDuration(30 * DAY_MS, '720h').prefault('24h'),
  SESSIONS_INACTIVITY_TIMEOUT: limitedDuration(DAY_MS, '24h').prefault('1h'),
  SESSIONS_ALLOW_LOW_AAL: limitedDuration(60 * MINUTE_MS, '1h').prefault('15m'),
  SESSIONS_FRESH_FOR: limitedDuration(60 * MINUTE_MS, '1h').prefault('15m'),
  SESSIONS_ENFORCE_ON_ACCESS_TOKEN: fixedFlag('true'),
  JWT_SECRET: secret(
    text()
      .refine((value) => Buffer.byteLength(value) >= SECRET_BYTES_MIN, {
        error: `must have at least ${SECRET_BYTES_MIN} bytes in the strict profile`,
      })
      .meta({ allowed: `at least ${SECRET_BYTES_MIN} bytes` }),
  ),
  JWT_EXP: integer(1, 3_600, 'seconds').prefault('900'),
  MAILER_AUTOCONFIRM: fixedFlag('false'),
  MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS: fixedFlag('false'),
  MAILER_SECURE_EMAIL_CHANGE_ENABLED: fixedFlag('true'),
  MAILER_LINK_MODE: oneOf('direct', 'confirm').prefault('confirm'),
  MAILER_OTP_EXP: lifetimeSeconds(600).prefault('600'),
  // The lifetime of a link. A user should not have to wait longer for a new link.
  SMTP_MAX_FREQUENCY: duration().prefault('1m'),
  SMS_AUTOCONFIRM: fixedFlag('false'),
  SMS_OTP_EXP: lifetimeSeconds(600).prefault('60'),
  MFA_CHALLENGE_EXPIRY_DURATION: integer(0, 600, 'seconds').prefault('300'),
  SMS_TEST_OTP: forbiddenSetting(secret(), new Map<string, string>()),
  MFA_TOTP_ENROLL_ENABLED: fixedFlag('true'),
  MFA_TOTP_VERIFY_ENABLED: fixedFlag('true'),
  EXTERNAL_FLOW_STATE_EXPIRY_DURATION: limitedDuration(10 * MINUTE_MS, '10m').prefault('5m'),
  ...family(PROVIDERS.map(toUpperCase), { 'EXTERNAL_<PROVIDER>_SKIP_NONCE_CHECK': fixedFlag('false') }),
  ...family(NOTIFICATIONS, { 'MAILER_NOTIFICATIONS_<EVENT>_ENABLED': flag().prefault('true') }),
} satisfies Readonly<Record<string, Setting>>

const defaults = SETTING_DEFAULTS

/** The settings with another default in the profile supabase. */
export const supabaseSettings = {
  SESSIONS_ENFORCE_ON_ACCESS_TOKEN: sessionSettings.SESSIONS_ENFORCE_ON_ACCESS_TOKEN.prefault(
    defaults.SESSIONS_ENFORCE_ON_ACCESS_TOKEN.supabase,
  ),
  SECURITY_REFRESH_TOKEN_REUSE_INTERVAL: sessionSettings.SECURITY_REFRESH_TOKEN_REUSE_INTERVAL.prefault(
    defaults.SECURITY_REFRESH_TOKEN_REUSE_INTERVAL.supabase,
  ),
  PASSWORD_HASH: passwordSettings.PASSWORD_HASH.prefault(defaults.PASSWORD_HASH.supabase),
  CUSTOM_OAUTH_ENABLED: externalSettings.CUSTOM_OAUTH_ENABLED.prefault(defaults.CUSTOM_OAUTH_ENABLED.supabase),
  ANONYMOUS_USER_RETENTION: databaseSettings.ANONYMOUS_USER_RETENTION.prefault(
    defaults.ANONYMOUS_USER_RETENTION.supabase,
  ),
  AUDIT_LOG_RETENTION: databaseSettings.AUDIT_LOG_RETENTION.prefault(defaults.AUDIT_LOG_RETENTION.supabase),
  SMTP_MAX_FREQUENCY: mailSettings.SMTP_MAX_FREQUENCY.prefault(defaults.SMTP_MAX_FREQUENCY.supabase),
  SMTP_PORT: mailSettings.SMTP_PORT.prefault('587').meta({ required: false }),
} satisfies Readonly<Record<keyof typeof SETTING_DEFAULTS, Setting>> & Settings

/** The settings with other names in the profile supabase. There, DB_NAMESPACE without a prefix is the schema. */
export const supabaseNames = {
  DB_SCHEMA: withAliases(databaseSettings.DB_SCHEMA, ['GOTRUE_DB_NAMESPACE', 'DB_NAMESPACE']),
  DB_NAMESPACE: withAliases(databaseSettings.DB_NAMESPACE, []),
}

function withAliases<S extends Setting>(setting: S, aliases: readonly string[]): S {
  return setting.meta({ ...setting.meta(), aliases })
}

type JudgedValues = ProfileValues &
  Parameters<typeof roleProblem>[0] &
  Pick<SettingValues<typeof securitySettings>, 'RATE_LIMIT_HEADER'> &
  Pick<
    SettingValues<typeof serverSettings>,
    'SECURITY_FORWARDED_FOR_ENABLED' | 'SECURITY_SB_FORWARDED_FOR_ENABLED' | 'TRUSTED_PROXIES'
  >

/** Rules of the strict profile that concern several settings (reference: Profiles). */
export const profileRules: readonly Rule<JudgedValues>[] = [
  // Request limits are off if no setting says how to find the client's address.
  (values) =>
    values.PROFILE === 'strict' &&
    values.RATE_LIMIT_HEADER === undefined &&
    values.TRUSTED_PROXIES === undefined &&
    !values.SECURITY_FORWARDED_FOR_ENABLED &&
    !values.SECURITY_SB_FORWARDED_FOR_ENABLED
      ? 'AUTH_TRUSTED_PROXIES, AUTH_RATE_LIMIT_HEADER or AUTH_SECURITY_FORWARDED_FOR_ENABLED is required when AUTH_PROFILE is strict'
      : undefined,
  (values) =>
    values.PROFILE === 'strict' && followsNoProxy(values)
      ? 'AUTH_TRUSTED_PROXIES is required when AUTH_PROFILE is strict and AUTH_RATE_LIMIT_HEADER is X-Forwarded-For'
      : undefined,
  (values) => (values.PROFILE === 'strict' ? roleProblem(values) : undefined),
]

function fixedFlag(value: 'true' | 'false') {
  return flag()
    .refine((setting) => String(setting) === value, { error: `must be ${value} in the strict profile` })
    .meta({ allowed: `only ${value}` })
    .prefault(value)
}

function forbiddenSetting<T>(rule: z.ZodType<string, string>, value: T) {
  return rule
    .refine(() => false, { error: 'must not be set in the strict profile' })
    .meta({ allowed: 'not to be set' })
    .optional()
    .transform(() => value)
}

function requiredLimit(count: string) {
  return limit()
    .transform((value, context) => {
      if (value !== 'off') return value
      context.addIssue({ code: 'custom', message: 'must not be off in the strict profile' })
      return z.NEVER
    })
    .meta({ form: 'number', allowed: 'not off' })
    .prefault(count)
}

function limitedDuration(msMax: number, written: string) {
  return duration()
    .refine((ms) => ms > 0 && ms <= msMax, { error: `must be positive and at most ${written} in the strict profile` })
    .meta({ allowed: `more than 0, at most ${written}` })
}

/** The prefixes of settings. `GOTRUE_` is the prefix of supabase/auth. Its names work here too. */
export const PREFIXES = { prefix: 'AUTH_', otherPrefix: 'GOTRUE_' } as const

/** The condition under which it is harmless that a setting of supabase/auth has no effect here. */
type Harmless = 'always' | 'while off' | 'while on'

/** A setting of supabase/auth that has no effect here. */
interface SettingWithoutEffect {
  /** The name without prefix, or its beginning followed by `*`. A word in `<>` stands for any word. */
  readonly pattern: string
  /** The behaviour of this service instead. */
  readonly instead: string
  readonly harmless: Harmless
}

/** The providers of supabase/auth that this service lacks, as in setting names. */
const UNSERVED_PROVIDERS = ['FLY', 'KAKAO', 'LINKEDIN_OIDC', 'SLACK_OIDC', 'VERCEL_MARKETPLACE', 'X', 'ZOOM'] as const

/** Patterns, the behaviour here, and when the difference is harmless. The first matching pattern counts. */
const ROWS: readonly (readonly [patterns: string, instead: string, harmless: Harmless])[] = [
  ['DB_CONN_PERCENTAGE DB_MAX_IDLE_POOL_SIZE', 'AUTH_DB_MAX_POOL_SIZE alone is the size of the pool', 'always'],
  ['DB_CONN_MAX_* DB_HEALTH_CHECK_PERIOD DB_ADVISOR_*', 'the pool looks after its connections', 'always'],
  ['DB_MIGRATIONS_PATH', 'migrations are part of the service', 'always'],
  ['INDEX_WORKER_*', 'migrations make all indexes', 'always'],
  ['LOG_* SMTP_LOGGING_ENABLED', 'each log line is JSON with fields of its own', 'always'],
  ['PROFILER_*', 'Node.js has a profiler', 'always'],
  ['TRACING_*', 'OTEL_… variables say where traces go', 'always'],
  ['RELOADING_*', 'settings are read when the service starts', 'always'],
  ['MAILER_EMAIL_BACKGROUND_SENDING', 'a queue sends every mail', 'always'],
  ['MAILER_TEMPLATE_RELOADING_*', 'a template is fetched again when it is needed', 'always'],
  ['MAILER_URLPATHS_*', 'only four kinds of mail have a path', 'always'],
  ['MAILER_EMAIL_VALIDATION_*', 'addresses are accepted by their form alone', 'while off'],
  ['PASSWORD_HIBP_BLOOM_*', 'each new password is looked up', 'always'],
  [
    'SECURITY_REFRESH_TOKEN_UPGRADE_PERCENTAGE SECURITY_REFRESH_TOKEN_ALGORITHM_VERSION',
    'tokens have one form',
    'always',
  ],
  ['SECURITY_REFRESH_TOKEN_ALLOW_REUSE', 'a used token is only taken again as the profile says', 'while off'],
  ['SECURITY_DB_ENCRYPTION_ENCRYPT SECURITY_DB_ENCRYPTION_ENCRYPTION_KEY_ID', 'secrets are always encrypted', 'always'],
  ['SESSIONS_TAGS', 'sessions have no tags', 'while off'],
  [
    'MFA_ENABLED',
    'supabase/auth reads it in 2.158.0 alone; AUTH_MFA_TOTP_ENROLL_ENABLED and AUTH_MFA_TOTP_VERIFY_ENABLED switch authenticator apps',
    'always',
  ],
  ['SAML_ENABLED', 'nobody can sign in by SAML', 'while off'],
  ['OAUTH_SERVER_ENABLED', 'the service is no OAuth server', 'while off'],
  ['EXTERNAL_WEB3_SOLANA_ENABLED EXTERNAL_WEB3_ETHEREUM_ENABLED', 'nobody can sign in by a wallet', 'while off'],
  ['SAML_* OAUTH_SERVER_* EXTERNAL_WEB3_* RATE_LIMIT_WEB3', 'belongs to what is not served', 'always'],
  ['RATE_LIMIT_O_AUTH_DYNAMIC_CLIENT_REGISTER', 'belongs to what is not served', 'always'],
  ['EXTERNAL_EMAIL_AUTHORIZED_ADDRESSES', 'mails go to every address', 'while off'],
  ['EXTERNAL_EMAIL_MAGIC_LINK_ENABLED', 'links and codes in mails sign in', 'while on'],
  ['CUSTOM_OAUTH_EXTERNAL_URL', 'AUTH_API_EXTERNAL_URL is the base of callbacks', 'while off'],
  ['EXTERNAL_OIDC_PROVIDER_CACHE_TTL', 'the service chooses how long it keeps such documents', 'always'],
  ['SMS_TWILIO_VERIFY_*', 'belongs to AUTH_SMS_PROVIDER=twilio_verify, which is refused', 'always'],
  ['EXPERIMENTAL_PROVIDERS_WITH_OWN_LINKING_DOMAIN', 'accounts are linked by verified email', 'while off'],
  ['EXPERIMENTAL_PROVIDER_LINKING_DOMAINS', 'accounts are linked by verified email', 'while off'],
  ['EXPERIMENTAL_CURSOR_PAGINATION_ENABLED', 'lists of users have pages', 'always'],
  ['EXPERIMENTAL_*', 'an experiment of supabase/auth that is not served', 'while off'],
  ['EXTERNAL_<PROVIDER>_API_URL', 'the provider has one address', 'while off'],
  [
    UNSERVED_PROVIDERS.map((name) => `EXTERNAL_${name}_ENABLED`).join(' '),
    'nobody can sign in at this provider',
    'while off',
  ],
  [
    UNSERVED_PROVIDERS.map((name) => `EXTERNAL_${name}_*`).join(' '),
    'belongs to a provider that is not served',
    'always',
  ],
]

/** The settings of supabase/auth without effect, in the order of the search. */
export const SETTINGS_WITHOUT_EFFECT: readonly SettingWithoutEffect[] = ROWS.flatMap(([patterns, instead, harmless]) =>
  patterns.split(' ').map((pattern) => ({ pattern, instead, harmless })),
)

const RULES = SETTINGS_WITHOUT_EFFECT.map((setting) => ({
  setting,
  pattern: new RegExp(`^${setting.pattern.replace('*', '.+').replace(/<\w+>/, '[A-Z0-9_]+')}$`),
}))

/** Returns the setting of supabase/auth with this name, if no setting here has the name. @param name with either prefix */
export function findWithoutEffect(name: string): SettingWithoutEffect | undefined {
  const prefix = Object.values(PREFIXES).find((each) => name.startsWith(each))
  if (prefix === undefined) return undefined
  return RULES.find(({ pattern }) => pattern.test(name.slice(prefix.length)))?.setting
}

const OFF = /^(|0|0s|false|f|no|n|off|\[\]|\{\})$/i

/** Whether a setting without effect is harmless with this value. */
export function isHarmless({ harmless }: SettingWithoutEffect, value: string): boolean {
  return harmless === 'always' || OFF.test(value.trim()) === (harmless === 'while off')
}

/** Returns sorted names, without those that Kubernetes sets for a Service `gotrue`. @throws ConfigError */
export function listUpstreamNames(source: EnvironmentOptions): readonly string[] {
  return Object.keys(readEnvironment(source))
    .filter((name) => name.startsWith(PREFIXES.otherPrefix) && !isSetByKubernetes(name))
    .sort()
}

/** Returns names of supabase/auth that are set while the name here is not. @throws ConfigError */
export function listAliases(source: EnvironmentOptions): readonly string[] {
  const env = readEnvironment(source)
  return listUpstreamNames(source).filter((name) => env[ownNameOf(name)] === undefined)
}

/** Replaces names of settings in text by the names under which they are set. @param aliases from `listAliases` */
export function namedAsSet(text: string, aliases: readonly string[]): string {
  const names = new Map(aliases.map((alias) => [ownNameOf(alias), alias]))
  return text.replaceAll(/\bAUTH_[A-Z0-9_]+/g, (name) => names.get(name) ?? name)
}

function ownNameOf(alias: string): string {
  return PREFIXES.prefix + alias.slice(PREFIXES.otherPrefix.length)
}

/** Names in one line the settings of supabase/auth that have no effect here. */
export function upstreamWarnings(unread: readonly string[]): readonly string[] {
  const names = unread.filter((name) => findWithoutEffect(name) !== undefined)
  if (names.length === 0) return []
  return [`without effect: ${names.join(', ')}; auth doctor --env FILE says of each whether that is safe`]
}
