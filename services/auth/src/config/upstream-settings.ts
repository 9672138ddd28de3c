import { type EnvironmentOptions, readEnvironment } from '@trestle/common/config/environment.ts'
import { isSetByKubernetes } from '@trestle/common/config/unknown-settings.ts'

/** The prefixes of settings. supabase/auth has the second prefix, and names that mean the same. */
export const PREFIXES = { prefix: 'AUTH_', otherPrefix: 'GOTRUE_' } as const

/** When it does no harm that a setting of supabase/auth has no effect here. */
type Harmless = 'always' | 'while off' | 'while on'

/** A setting of supabase/auth that no setting here reads. */
export interface SettingWithoutEffect {
  /** The name of the setting without prefix, or the beginning of several names, with `*`. A word in `<>` stands for any word. */
  readonly pattern: string
  /** The behaviour in its place. */
  readonly instead: string
  readonly harmless: Harmless
}

/** The providers of supabase/auth that this service lacks, as in names of settings. */
const UNSERVED_PROVIDERS = ['FLY', 'KAKAO', 'LINKEDIN_OIDC', 'SLACK_OIDC', 'VERCEL_MARKETPLACE', 'X', 'ZOOM'] as const

/** Each pattern, what is so instead, and when that does no harm. The first pattern that matches a name counts. */
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
  ['SECURITY_DB_ENCRYPTION_ENCRYPT SECURITY_DB_ENCRYPTION_ENCRYPTION_KEY_ID', 'secrets are always sealed', 'always'],
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

/** The settings of supabase/auth without effect, in the order in which they are looked up. */
export const SETTINGS_WITHOUT_EFFECT: readonly SettingWithoutEffect[] = ROWS.flatMap(([patterns, instead, harmless]) =>
  patterns.split(' ').map((pattern) => ({ pattern, instead, harmless })),
)

const RULES = SETTINGS_WITHOUT_EFFECT.map((setting) => ({
  setting,
  pattern: new RegExp(`^${setting.pattern.replace('*', '.+').replace(/<\w+>/, '[A-Z0-9_]+')}$`),
}))

/** The setting of supabase/auth that has this name, if no setting here has it. @param name with either prefix */
export function findWithoutEffect(name: string): SettingWithoutEffect | undefined {
  const prefix = Object.values(PREFIXES).find((each) => name.startsWith(each))
  if (prefix === undefined) return undefined
  return RULES.find(({ pattern }) => pattern.test(name.slice(prefix.length)))?.setting
}

const OFF = /^(|0|0s|false|f|no|n|off|\[\]|\{\})$/i

/** Whether it does no harm that a setting has no effect, by its value. */
export function isHarmless({ harmless }: SettingWithoutEffect, value: string): boolean {
  return harmless === 'always' || OFF.test(value.trim()) === (harmless === 'while off')
}

/**
 * Names that begin as those of supabase/auth, sorted. Those that Kubernetes sets for a Service `gotrue` do not count.
 * @throws ConfigError when the env file cannot be read
 */
export function listUpstreamNames(source: EnvironmentOptions): readonly string[] {
  return Object.keys(readEnvironment(source))
    .filter((name) => name.startsWith(PREFIXES.otherPrefix) && !isSetByKubernetes(name))
    .sort()
}

/**
 * The names of supabase/auth that are set, and whose own name here is not.
 * @throws ConfigError when the env file cannot be read
 */
export function listAliases(source: EnvironmentOptions): readonly string[] {
  const env = readEnvironment(source)
  return listUpstreamNames(source).filter((name) => env[ownNameOf(name)] === undefined)
}

/** A text for the operator, in which a setting has the name under which it was set. @param aliases from `listAliases` */
export function namedAsSet(text: string, aliases: readonly string[]): string {
  const names = new Map(aliases.map((alias) => [ownNameOf(alias), alias]))
  return text.replaceAll(/\bAUTH_[A-Z0-9_]+/g, (name) => names.get(name) ?? name)
}

function ownNameOf(alias: string): string {
  return PREFIXES.prefix + alias.slice(PREFIXES.otherPrefix.length)
}

/** Names, in one line, the settings of supabase/auth that nothing reads here and that would have no effect. */
export function upstreamWarnings(unread: readonly string[]): readonly string[] {
  const names = unread.filter((name) => findWithoutEffect(name) !== undefined)
  if (names.length === 0) return []
  return [`without effect: ${names.join(', ')}; auth doctor --env FILE says of each whether that is safe`]
}
