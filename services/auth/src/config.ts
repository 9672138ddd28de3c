import { loadConfig, type SettingValues } from '@trestle/common/config/load-config.ts'
import { text } from '@trestle/common/config/setting.ts'
import { findUnknownSettings } from '@trestle/common/config/unknown-settings.ts'
import { dangerousSettings } from './config/dangers.ts'
import { externalRules, externalSettings, externalWarnings, toExternalConfig } from './config/external.ts'
import { hookRules, hookSettings, toHooksConfig } from './config/hooks.ts'
import { jwtRules, jwtSettings, jwtWarnings, toJwtConfig } from './config/jwt.ts'
import { mailRules, mailSettings, mailWarnings, toMailConfig } from './config/mail.ts'
import { mfaSettings, toMfaConfig } from './config/mfa.ts'
import { plainHttpSettings } from './config/plain-http.ts'
import { profileRules, profileSettings, strictSettings } from './config/profile.ts'
import {
  securityRules,
  securitySettings,
  securityWarnings,
  toRateLimitConfig,
  toSecurityConfig,
} from './config/security.ts'
import {
  serverAliases,
  serverSettings,
  serverWarnings,
  toDatabaseSettings,
  toServerConfig,
  toSignupConfig,
} from './config/server.ts'
import { passwordSettings, sessionSettings, toPasswordConfig, toSessionConfig } from './config/sessions.ts'
import { smsSettings, smsWarnings, toSmsConfig } from './config/sms.ts'
import { toWebauthnConfig, webauthnRules, webauthnSettings } from './config/webauthn.ts'

/** Every setting of the service, by its name without `AUTH_`. */
export const settings = {
  ...profileSettings,
  ...serverSettings,
  ...jwtSettings,
  ...securitySettings,
  ...sessionSettings,
  ...passwordSettings,
  ...mfaSettings,
  ...webauthnSettings,
  ...hookSettings,
  ...externalSettings,
  ...mailSettings,
  ...smsSettings,
}

type Values = SettingValues<typeof settings>

export type AuthConfig = ReturnType<typeof toAuthConfig>

/** The settings by subject. */
export function toAuthConfig(values: Values) {
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
  }
}

/** A configuration that the service can start with, and what its operator should know about it. */
export interface LoadedConfig {
  readonly config: AuthConfig
  readonly warnings: readonly string[]
}

/**
 * Reads the settings from the environment and an env file.
 * @param file another file than `.env`
 * @throws ConfigError with one line for each problem
 */
export function loadAuthConfig(env: NodeJS.ProcessEnv, file?: string): LoadedConfig {
  const source = { prefix: 'AUTH_', env, file, aliases: serverAliases }
  const { PROFILE: profile } = loadConfig({ PROFILE: text().default('') }, { prefix: source.prefix, env, file })
  const isStrict = profile.toLowerCase() === 'strict'
  const values = loadConfig(isStrict ? { ...settings, ...strictSettings } : settings, {
    ...source,
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
    config: toAuthConfig(values),
    warnings: [
      ...findUnknownSettings(settings, source),
      ...serverWarnings(values),
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
