import { loadConfig } from '@trestle/common/config/load-config.ts'
import { text } from '@trestle/common/config/setting.ts'
import { findUnknownSettings } from '@trestle/common/config/unknown-settings.ts'
import { adviceForMissing } from '@trestle/service/common-settings.ts'
import { largePoolWarnings } from '@trestle/service/pool-size.ts'
import { dangerousSettings } from './config/dangers.ts'
import { toDatabaseSettings } from './config/database.ts'
import { externalRules, externalWarnings, toExternalConfig } from './config/external.ts'
import { hookRules, toHooksConfig } from './config/hooks.ts'
import { jwtRules, jwtWarnings, toJwtConfig } from './config/jwt.ts'
import { mailRules, mailWarnings, toMailConfig } from './config/mail.ts'
import { toMfaConfig } from './config/mfa.ts'
import { plainHttpSettings } from './config/plain-http.ts'
import { profileRules, strictSettings } from './config/profile.ts'
import { securityRules, securityWarnings, toRateLimitConfig, toSecurityConfig } from './config/security.ts'
import { serverWarnings, toServerConfig } from './config/server.ts'
import { toPasswordConfig, toSessionConfig } from './config/sessions.ts'
import { settings } from './config/settings.ts'
import { toSignupConfig } from './config/signup.ts'
import { smsWarnings, toSmsConfig } from './config/sms.ts'
import { toWebauthnConfig, webauthnRules } from './config/webauthn.ts'

/** The settings of the service, checked and grouped by subject. Durations end in their unit: `Ms` or `Seconds`. */
export type AuthConfig = ReturnType<typeof loadAuthConfig>

/**
 * Reads the settings from the environment and an env file.
 * @param file another file than `.env`
 * @throws ConfigError with one line for each problem
 */
export function loadAuthConfig(env: NodeJS.ProcessEnv, file?: string) {
  const source = { prefix: 'AUTH_', env, file }
  const { PROFILE: profile } = loadConfig({ PROFILE: text().default('') }, source)
  const isStrict = profile.toLowerCase() === 'strict'
  const values = loadConfig(isStrict ? { ...settings, ...strictSettings } : settings, {
    ...source,
    adviceForMissing: adviceForMissing('auth'),
    refusesUnknown: isStrict,
    rules: [
      ...jwtRules,
      ...mailRules,
      ...securityRules,
      ...externalRules,
      ...webauthnRules,
      ...hookRules,
      ...profileRules,
    ],
  })
  return {
    server: toServerConfig(values),
    database: toDatabaseSettings(values),
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
    /** Warnings for the operator. */
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
