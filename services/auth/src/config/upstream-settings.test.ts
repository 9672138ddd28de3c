import { ConfigError } from '@trestle/common/config/config-error.ts'
import { describe, expect, it } from 'vitest'
import { SELF_HOSTING } from '../../test/self-hosting.ts'
import { loadAuthConfig } from '../config.ts'
import { findWithoutEffect, isHarmless } from './upstream-settings.ts'

const load = (env: Record<string, string> = {}) => loadAuthConfig({ ...SELF_HOSTING, ...env })
const own = (env: Record<string, string> = {}) =>
  loadAuthConfig({
    AUTH_SITE_URL: 'http://localhost:3000',
    AUTH_API_EXTERNAL_URL: 'http://localhost:8081',
    AUTH_DB_DRIVER: 'postgres',
    AUTH_DB_DATABASE_URL: 'postgres://u:p@localhost/db',
    AUTH_JWT_SECRET: 'a secret of at least thirty-two bytes',
    AUTH_SMTP_HOST: 'localhost',
    AUTH_SMTP_PORT: '25',
    AUTH_SMTP_ADMIN_EMAIL: 'auth@example.com',
    ...env,
  })
/** Warnings about names, not about values. */
const namesIn = (warnings: readonly string[]) =>
  warnings.filter((line) => /^(unknown|without effect|.*is ignored)/.test(line))

describe('an environment of supabase/auth', () => {
  it('of the self-hosting files is taken as it is, in the profile supabase', () => {
    const config = load()
    expect([config.server.host, config.server.port, config.database.schema, config.database.namespace]).toEqual([
      ...['0.0.0.0', 9999],
      ...['auth', ''],
    ])
    expect([config.signup.redirects.allowList, config.mail.smtp?.user, config.jwt.seedKeys]).toEqual([
      [],
      undefined,
      [],
    ])
    const { smtp } = config.mail
    expect([smtp?.host, smtp?.port, smtp?.from.address]).toEqual(['supabase-mail', 2500, 'admin@example.com'])
    expect(namesIn(config.warnings)).toEqual([])
    expect(config.notes).toEqual([
      'AUTH_PROFILE is unset and GOTRUE_API_HOST is set: the profile is supabase',
      'AUTH_TRUSTED_PROXIES is unset: the last address in X-Forwarded-For is that of the client, if the connection comes from a private network',
    ])
    expect(config.behaviours.healthName).toBe('GoTrue')
  })

  it('selects the profile supabase by any name, unless AUTH_PROFILE is set', () => {
    const compatible = own().behaviours
    expect(own({ GOTRUE_DB_ADVISOR_ENABLED: 'true' }).behaviours.healthName).toBe('GoTrue')
    expect(load({ AUTH_PROFILE: 'compatible' }).behaviours).toEqual(compatible)
    expect(load({ AUTH_PROFILE: 'compatible' }).notes).toEqual([])
    expect(own({ GOTRUE_SITE_URL: '' }).behaviours).toEqual(compatible)
    // Kubernetes sets these for a Service called gotrue.
    const service = {
      GOTRUE_SERVICE_HOST: '10.0.0.1',
      GOTRUE_PORT: 'tcp://10.0.0.1:9999',
      GOTRUE_PORT_9999_TCP_PORT: '9999',
    }
    expect(own(service).behaviours).toEqual(compatible)
  })

  it('has names that were renamed', () => {
    const key = Buffer.alloc(32, 1)
    const config = load({
      GOTRUE_MFA_WEB_AUTHN_ENROLL_ENABLED: 'true',
      GOTRUE_WEBAUTHN_RP_ID: 'localhost',
      GOTRUE_WEBAUTHN_RP_DISPLAY_NAME: 'Example',
      GOTRUE_WEBAUTHN_RP_ORIGINS: 'http://localhost:3000',
      GOTRUE_EXTERNAL_REDIRECTURL: 'https://app.example.com/ends',
      GOTRUE_TRACING_SERVICE_NAME: 'users',
      GOTRUE_SECURITY_DB_ENCRYPTION_ENCRYPTION_KEY: key.toString('base64url'),
      GOTRUE_SECURITY_DB_ENCRYPTION_DECRYPTION_KEYS: `first:${key.toString('base64url')}`,
      GOTRUE_SECURITY_SB_FORWARDED_FOR_ENABLED: 'true',
    })
    expect(config.mfa.webauthn.enrolEnabled).toBe(true)
    expect(config.external.redirectUrl).toBe('https://app.example.com/ends')
    expect(config.server.serviceName).toBe('users')
    expect([config.security.encryptionKey, config.security.decryptionKeys]).toEqual([key, [key]])
    expect(config.server.addressHeaders).toEqual(['sb-forwarded-for'])
    expect(namesIn(config.warnings)).toEqual([])
  })

  it.each([
    [{ DB_NAMESPACE: 'accounts' }, 'accounts', ''],
    [{ GOTRUE_DB_NAMESPACE: 'accounts', DB_NAMESPACE: 'other' }, 'accounts', ''],
    [{ AUTH_DB_SCHEMA: 'accounts', DB_NAMESPACE: 'other' }, 'accounts', ''],
    [{ AUTH_DB_NAMESPACE: 'app' }, 'auth', 'app'],
    [{ AUTH_PROFILE: 'compatible', DB_NAMESPACE: 'app' }, 'auth', 'app'],
    [{ AUTH_PROFILE: 'compatible', GOTRUE_DB_NAMESPACE: 'accounts' }, 'accounts', ''],
  ])('names schema and prefix by %j', (env, schema, namespace) => {
    const { database } = load({ ...env })
    expect([database.schema, database.namespace]).toEqual([schema, namespace])
  })

  it('yields to the own name of a setting, with a warning when the values differ', () => {
    const config = load({ AUTH_JWT_EXP: '60', AUTH_API_PORT: '9999' })
    expect([config.jwt.lifetimeSeconds, config.server.port]).toEqual([60, 9999])
    expect(namesIn(config.warnings)).toEqual(['GOTRUE_JWT_EXP is ignored, because AUTH_JWT_EXP has another value'])
  })

  it('names what has no effect in one line, and what nobody knows with the nearest name', () => {
    const env = {
      GOTRUE_SAML_ENABLED: 'true',
      GOTRUE_DB_CONN_PERCENTAGE: '20',
      GOTRUE_JWT_EXPP: '60',
      AUTH_SAML_ENABLED: 'true',
    }
    expect(namesIn(load(env).warnings)).toEqual([
      'unknown setting GOTRUE_JWT_EXPP, did you mean GOTRUE_JWT_EXP?',
      'without effect: AUTH_SAML_ENABLED, GOTRUE_DB_CONN_PERCENTAGE, GOTRUE_SAML_ENABLED; auth doctor --env FILE says of each whether that is safe',
    ])
  })

  it('stops a strict service for an unknown name, and not for one without effect', () => {
    const strict = {
      AUTH_PROFILE: 'strict',
      AUTH_TRUSTED_PROXIES: '1',
      GOTRUE_SMS_AUTOCONFIRM: 'false',
      GOTRUE_JWT_EXP: '600',
      GOTRUE_RELOADING_SIGNAL_ENABLED: 'true',
    }
    expect(namesIn(load(strict).warnings)).toHaveLength(1)
    expect(() => load({ ...strict, GOTRUE_JWT_EXPP: '60', AUTH_SAML_PRIVATE_KEY: 'x' })).toThrow(
      new ConfigError([
        'unknown setting AUTH_SAML_PRIVATE_KEY',
        'unknown setting GOTRUE_JWT_EXPP, did you mean GOTRUE_JWT_EXP?',
      ]),
    )
  })

  it.each([
    ['DEBUG', 'debug'],
    ['warning', 'warn'],
    ['trace', 'debug'],
  ])('may call a level of the log %s', (word, level) => {
    expect(load({ GOTRUE_LOG_LEVEL: word }).server.logLevel).toBe(level)
  })

  it('names its own setting in a problem', () => {
    expect(() => load({ GOTRUE_JWT_EXP: 'x' })).toThrow(
      new ConfigError(['GOTRUE_JWT_EXP must be a positive integer (got "x")']),
    )
  })
})

describe('isHarmless', () => {
  it.each([
    ['GOTRUE_DB_MAX_IDLE_POOL_SIZE', '5', true],
    ['GOTRUE_SAML_ENABLED', 'false', true],
    ['GOTRUE_SAML_ENABLED', 'true', false],
    ['GOTRUE_SAML_PRIVATE_KEY', 'x', true],
    ['GOTRUE_EXTERNAL_EMAIL_MAGIC_LINK_ENABLED', 'true', true],
    ['GOTRUE_EXTERNAL_EMAIL_MAGIC_LINK_ENABLED', 'false', false],
    ['GOTRUE_EXTERNAL_EMAIL_AUTHORIZED_ADDRESSES', 'a@example.com', false],
    ['GOTRUE_EXTERNAL_KAKAO_ENABLED', 'true', false],
    ['GOTRUE_EXTERNAL_KAKAO_CLIENT_ID', 'x', true],
    ['GOTRUE_EXTERNAL_GITHUB_API_URL', 'https://github.example.com', false],
    ['GOTRUE_EXPERIMENTAL_SCIM_ENABLED', 'True', false],
    ['GOTRUE_RATE_LIMIT_WEB3', '30', true],
  ])('finds %s=%j harmless: %s', (name, value, expected) => {
    const setting = findWithoutEffect(name)
    expect(setting && isHarmless(setting, value)).toBe(expected)
  })

  it('says nothing about a misspelt name', () => {
    for (const name of ['GOTRUE_JWT_EXPP', 'AUTH_SAMLL_ENABLED', 'SAML_ENABLED'])
      expect(findWithoutEffect(name)).toBeUndefined()
  })
})
