import { loadConfig } from '@trestle/common/config/load-config.ts'
import { text } from '@trestle/common/config/setting.ts'
import { findUnknownSettings } from '@trestle/common/config/unknown-settings.ts'
import { adviceForMissing } from '@trestle/service/common-settings.ts'
import { largePoolWarnings } from '@trestle/service/pool-size.ts'
import { type Behaviours, behavioursOf } from './config/behaviours.ts'
import { dangerousSettings } from './config/dangers.ts'
import { type AuthDatabaseSettings, toDatabaseConfig } from './config/database.ts'
import { type ExternalConfig, externalRules, externalWarnings, toExternalConfig } from './config/external.ts'
import { type HooksConfig, hookRules, toHooksConfig } from './config/hooks.ts'
import { type JwtConfig, jwtRules, jwtWarnings, toJwtConfig } from './config/jwt.ts'
import { type MailConfig, mailRules, mailWarnings, toMailConfig } from './config/mail.ts'
import { type MfaConfig, toMfaConfig } from './config/mfa.ts'
import { plainHttpSettings } from './config/plain-http.ts'
import { profileRules, strictSettings, supabaseSettings } from './config/profile.ts'
import {
  type RateLimitConfig,
  type SecurityConfig,
  securityRules,
  securityWarnings,
  toRateLimitConfig,
  toSecurityConfig,
} from './config/security.ts'
import { type ServerConfig, serverWarnings, toServerConfig } from './config/server.ts'
import { type PasswordConfig, type SessionConfig, toPasswordConfig, toSessionConfig } from './config/sessions.ts'
import { settings } from './config/settings.ts'
import { type SignupConfig, toSignupConfig } from './config/signup.ts'
import { type SmsConfig, smsWarnings, toSmsConfig } from './config/sms.ts'
import { toWebauthnConfig, type WebauthnConfig, webauthnRules } from './config/webauthn.ts'

/** The settings of the service, checked and grouped by subject. Durations end in their unit: `Ms` or `Seconds`. */
export interface AuthConfig {
  readonly behaviours: Behaviours
  readonly server: ServerConfig
  readonly database: AuthDatabaseSettings
  readonly signup: SignupConfig
  readonly jwt: JwtConfig
  readonly security: SecurityConfig
  readonly rateLimits: RateLimitConfig
  readonly sessions: SessionConfig
  readonly passwords: PasswordConfig
  readonly mfa: MfaConfig
  readonly webauthn: WebauthnConfig
  readonly hooks: HooksConfig
  readonly external: ExternalConfig
  readonly mail: MailConfig
  readonly sms: SmsConfig
  /** Warnings for the operator. */
  readonly warnings: readonly string[]
}

/**
 * Returns the settings of the environment and an env file.
 * @param file another file than `.env`
 * @throws ConfigError with one line for each problem
 */
export function loadAuthConfig(env: NodeJS.ProcessEnv, file?: string): AuthConfig {
  const source = { prefix: 'AUTH_', env, file }
  const { PROFILE: written } = loadConfig({ PROFILE: text().default('') }, source)
  const profile = written.toLowerCase()
  const ofProfile = profile === 'strict' ? strictSettings : profile === 'supabase' ? supabaseSettings : {}
  const values = loadConfig(
    { ...settings, ...ofProfile },
    {
      ...source,
      adviceForMissing: adviceForMissing('auth'),
      refusesUnknown: profile === 'strict',
      rules: [
        ...jwtRules,
        ...mailRules,
        ...securityRules,
        ...externalRules,
        ...webauthnRules,
        ...hookRules,
        ...profileRules,
      ],
    },
  )
  return {
    behaviours: behavioursOf(values.PROFILE),
    server: toServerConfig(values),
    database: toDatabaseConfig(values),
    signup: toSignupConfig(values),
    jwt: toJwtConfig(values),
    security: toSecurityConfig(values),
    rateLimits: toRateLimitConfig(values),
    sessions: toSessionConfig(values),
    passwords: toPasswordConfig(values),
    mfa: toMfaConfig(values),
    webauthn: toWebauthnConfig(values),
    hooks: toHooksConfig(values),
    external: toExternalConfig(values),
    mail: toMailConfig(values),
    sms: toSmsConfig(values),
    warnings: [
      ...findUnknownSettings(settings, source),
      ...serverWarnings(values),
      ...largePoolWarnings('AUTH_DB_MAX_POOL_SIZE', values.DB_MAX_POOL_SIZE),
      ...jwtWarnings(values),
      ...securityWarnings(values),
      ...mailWarnings(values),
      ...smsWarnings(values),
      ...externalWarnings(values),
      ...plainHttpSettings(values),
      ...dangerousSettings(values),
    ],
  }
}
