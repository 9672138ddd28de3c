import { adviceForMissing } from '@trestle/common/config/advice-for-missing.ts'
import type { EnvFile, EnvironmentOptions } from '@trestle/common/config/environment.ts'
import { loadConfig } from '@trestle/common/config/load-config.ts'
import { removedTelemetrySettings } from '@trestle/common/config/process-settings.ts'
import { type Settings, text } from '@trestle/common/config/setting.ts'
import {
  findContradictions,
  findUnknownSettings,
  listUnreadNames,
  type SettingPrefixes,
} from '@trestle/common/config/unknown-settings.ts'
import { largePoolWarnings, removedDatabaseSettings } from '@trestle/service/database-settings.ts'
import { type CompatibilityOptions, type CompatibilityProfile, compatibilityOf } from './config/compatibility.ts'
import {
  dangerousSettings,
  mailRules,
  mailWarnings,
  plainHttpSettings,
  templateProblems,
  templateWarnings,
} from './config/dangers.ts'
import { type ExternalConfig, externalRules, externalWarnings, toExternalConfig } from './config/external.ts'
import {
  type MfaConfig,
  toMfaConfig,
  toWebauthnConfig,
  type WebauthnConfig,
  webauthnRules,
  webauthnWarnings,
} from './config/factors.ts'
import { type HooksConfig, hookRules, toHooksConfig } from './config/hooks.ts'
import { type JwtConfig, jwtRules, jwtWarnings, toJwtConfig, upstreamAudience } from './config/jwt.ts'
import { type MailConfig, toMailConfig } from './config/mail.ts'
import {
  type AuthDatabaseSettings,
  type ServerConfig,
  serverWarnings,
  toDatabaseConfig,
  toServerConfig,
} from './config/process.ts'
import {
  findWithoutEffect,
  listAliases,
  listUpstreamNames,
  namedAsSet,
  PREFIXES,
  profileRules,
  strictSettings,
  supabaseNames,
  supabaseSettings,
  upstreamWarnings,
} from './config/profile.ts'
import {
  type RateLimitConfig,
  type SecurityConfig,
  securityRules,
  securityWarnings,
  toRateLimitConfig,
  toSecurityConfig,
} from './config/security.ts'
import { type OperatorsConfig, settings, toOperatorsConfig } from './config/settings.ts'
import {
  type PasswordConfig,
  type SessionConfig,
  type SignupConfig,
  toPasswordConfig,
  toSessionConfig,
  toSignupConfig,
} from './config/sign-in.ts'
import { type SmsConfig, smsWarnings, toSmsConfig } from './config/sms.ts'

/** The validated settings of the service by subject. Durations end in their unit: `Ms` or `Seconds`. */
export interface AuthConfig {
  /** For display only. The code reads `compatibility`. */
  readonly profile: CompatibilityProfile
  readonly compatibility: CompatibilityOptions
  readonly server: ServerConfig
  readonly database: AuthDatabaseSettings
  readonly signup: SignupConfig
  readonly jwt: JwtConfig
  readonly security: SecurityConfig
  readonly rateLimits: RateLimitConfig
  readonly sessions: SessionConfig
  readonly passwords: PasswordConfig
  readonly mfa: MfaConfig
  readonly operators: OperatorsConfig
  readonly webauthn: WebauthnConfig
  readonly hooks: HooksConfig
  readonly external: ExternalConfig
  readonly mail: MailConfig
  readonly sms: SmsConfig
  /** Names of supabase/auth under which settings are set. Texts for the operator use these names (`namedAsSet`). */
  readonly aliases: readonly string[]
  /** Mail subjects and SMS texts that are not valid templates. */
  readonly templateProblems: readonly string[]
  readonly warnings: readonly string[]
  /** Defaults for unset settings that may surprise the operator. */
  readonly notes: readonly string[]
}

const removed = {
  ...removedTelemetrySettings,
  ...removedDatabaseSettings,
  MAILER_INVITE_ON_ADMIN_CREATE: 'a new user is invited by mail unless AUTH_PROFILE is supabase',
}

const RULES = [
  ...jwtRules,
  ...mailRules,
  ...securityRules,
  ...externalRules,
  ...webauthnRules,
  ...hookRules,
  ...profileRules,
]

/**
 * Returns the settings of the environment and an env file.
 * @param file an env file with more variables. By default no file is read
 * @throws ConfigError with one line for each problem
 */
export function loadAuthConfig(env: NodeJS.ProcessEnv, file?: EnvFile): AuthConfig {
  const source = { ...PREFIXES, env, file }
  const choice = chooseProfile(source)
  const all = settingsOf(choice)
  const values = loadConfig(all, {
    ...source,
    adviceForMissing: adviceForMissing('auth'),
    removed,
    refusesUnknown: choice.profile === 'strict',
    isExpected: isExpectedInStrict,
    rules: RULES,
  })
  const [compatibility, aliases] = [compatibilityOf(values.PROFILE), listAliases(source)]
  return {
    profile: values.PROFILE,
    compatibility,
    server: toServerConfig(values, compatibility),
    database: toDatabaseConfig(values),
    signup: toSignupConfig(values, compatibility),
    jwt: toJwtConfig(values),
    security: toSecurityConfig(values),
    rateLimits: toRateLimitConfig(values),
    sessions: toSessionConfig(values),
    passwords: toPasswordConfig(values),
    mfa: toMfaConfig(values),
    operators: toOperatorsConfig(values),
    webauthn: toWebauthnConfig(values),
    hooks: toHooksConfig(values),
    external: toExternalConfig(values),
    mail: toMailConfig(values, compatibility),
    sms: toSmsConfig(values, compatibility),
    aliases,
    templateProblems: templateProblems(values),
    warnings: [
      ...findUnknownSettings(all, { ...source, isExpected: isWithoutEffect }),
      ...findContradictions(all, source),
      ...upstreamWarnings(listUnreadNames(all, source)),
      ...serverWarnings(values),
      ...largePoolWarnings('AUTH_DB_MAX_POOL_SIZE', values.DB_MAX_POOL_SIZE),
      ...jwtWarnings(values),
      ...securityWarnings(values),
      ...mailWarnings(values),
      ...templateWarnings(values),
      ...smsWarnings(values),
      ...webauthnWarnings(values),
      ...externalWarnings(values),
      ...plainHttpSettings(values),
      ...dangerousSettings(values),
    ].map((warning) => namedAsSet(warning, aliases)),
    notes: [
      ...profileNotes(choice.selectedBy),
      ...(values.TRUSTED_PROXIES === undefined && compatibility.trustedPeer === 'private peer' ? [TRUSTS_PEER] : []),
    ],
  }
}

/** @param selectedBy the setting that selected the profile, unless AUTH_PROFILE is set */
function profileNotes(selectedBy: string | undefined): readonly string[] {
  return selectedBy === undefined ? [] : [`AUTH_PROFILE is unset and ${selectedBy} is set: the profile is supabase`]
}

/** Returns the settings that the profile of the environment allows. @throws ConfigError if the env file cannot be read */
export function readSettings(env: NodeJS.ProcessEnv, file?: EnvFile): Settings {
  return settingsOf(chooseProfile({ ...PREFIXES, env, file }))
}

function settingsOf({ profile, selectedBy, isUpstream }: ReturnType<typeof chooseProfile>) {
  const ofProfile = {
    ...(profile === 'strict' && strictSettings),
    ...(profile === 'supabase' && { ...supabaseSettings, ...supabaseNames }),
  }
  return {
    ...settings,
    ...ofProfile,
    ...(isUpstream && upstreamAudience),
    ...(selectedBy && { PROFILE: settings.PROFILE.prefault(profile) }),
  }
}

const TRUSTS_PEER =
  'AUTH_TRUSTED_PROXIES is unset: the last address in X-Forwarded-For is that of the client, if the connection comes from a private network'

/**
 * Returns the profile in lower case, the setting that selects it instead of AUTH_PROFILE, and whether the environment has names
 * of supabase/auth.
 */
function chooseProfile(source: EnvironmentOptions & SettingPrefixes): {
  readonly profile: string
  readonly selectedBy: string | undefined
  readonly isUpstream: boolean
} {
  const { PROFILE: written } = loadConfig({ PROFILE: text().default('') }, source)
  const [first] = listUpstreamNames(source)
  const selectedBy = written === '' ? first : undefined
  const profile = selectedBy === undefined ? written.toLowerCase() : 'supabase'
  return { profile, selectedBy, isUpstream: first !== undefined }
}

const isWithoutEffect = (name: string): boolean => findWithoutEffect(name) !== undefined
/** The strict profile accepts settings without effect only under the names of supabase/auth. */
const isExpectedInStrict = (name: string): boolean => name.startsWith(PREFIXES.otherPrefix) && isWithoutEffect(name)
