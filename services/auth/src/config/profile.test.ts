import { ConfigError } from '@trestle/common/config/environment.ts'
import { describe, expect, it } from 'vitest'
import { SELF_HOSTING } from '../../test/self-hosting.ts'
import { loadAuthConfig } from '../config.ts'
import { findWithoutEffect, isHarmless } from './profile.ts'

const REQUIRED = {
  AUTH_SITE_URL: 'https://app.example.com/start',
  AUTH_API_EXTERNAL_URL: 'https://auth.acme.example',
  AUTH_DB_DRIVER: 'postgres',
  AUTH_DATABASE_URL: 'postgres://u:p@localhost/db',
  AUTH_JWT_SECRET: 'a secret of at least thirty-two bytes',
  AUTH_SMTP_HOST: 'localhost',
  AUTH_SMTP_PORT: '1025',
  AUTH_SMTP_ADMIN_EMAIL: 'auth@example.com',
}
const STRICT = { ...REQUIRED, AUTH_PROFILE: 'Strict', AUTH_RATE_LIMIT_HEADER: 'X-Real-Ip' }
const problems = (env: Record<string, string>): readonly string[] => {
  try {
    loadAuthConfig(env)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}

describe('AUTH_PROFILE=strict', () => {
  it('changes the defaults and the fixed rules', () => {
    const config = loadAuthConfig(STRICT)
    expect(config.sessions).toEqual({
      revokeFamilyOnReuse: true,
      reuseIntervalMs: 0,
      timeboxMs: 86_400_000,
      inactivityTimeoutMs: 3_600_000,
      lowAalMs: 900_000,
      freshForMs: 900_000,
      singlePerUser: false,
      enforceOnAccessToken: true,
    })
    expect(config.jwt.lifetimeSeconds).toBe(900)
    expect([config.mail.codeLifetimeSeconds, config.mail.linkMode]).toEqual([600, 'confirm'])
    expect(config.mail.isNotified('PASSWORD_CHANGED')).toBe(true)
    expect(config.signup).toEqual({
      disabled: false,
      emailEnabled: true,
      phoneEnabled: false,
      anonymousEnabled: false,
      redirects: { siteUrl: 'https://app.example.com/start', site: 'address', allowList: [] },
      pkce: 'required',
      confirmerOwnsAccount: true,
      revealsUnconfirmed: false,
      linkHosts: [],
    })
    expect(config.security).toEqual({
      reauthenticateForPassword: false,
      currentPasswordForPassword: true,
      manualLinkingEnabled: false,
      factorGuardsIdentities: true,
      idTokenNonceRequired: true,
      assumesVerified: false,
      codeAttemptsMax: 10,
      decryptionKeys: [],
      outboundAllowedHosts: [],
    })
    const { policy, policyBindsAdmins } = config.passwords
    expect(policyBindsAdmins).toBe(true)
    expect([policy.lengthMin, policy.forbiddenWords]).toEqual([15, ['example', 'auth', 'acme', 'example']])
    expect(policy.common.size).toBeGreaterThanOrEqual(3_000)
    expect([...policy.common].every((password) => password === password.toLowerCase())).toBe(true)
  })

  it('accepts stricter settings and settings within its bounds', () => {
    const config = loadAuthConfig({
      ...STRICT,
      AUTH_PASSWORD_MIN_LENGTH: '8',
      AUTH_SESSIONS_TIMEBOX: '720h',
      AUTH_SECURITY_REFRESH_TOKEN_REUSE_INTERVAL: '10s',
      AUTH_URI_ALLOW_LIST: 'https://app.example.com/cb, com.example.app:/cb',
    })
    expect(config.passwords.policy.lengthMin).toBe(8)
    expect(config.sessions).toEqual({
      revokeFamilyOnReuse: true,
      reuseIntervalMs: 10_000,
      timeboxMs: 2_592_000_000,
      inactivityTimeoutMs: 3600000,
      lowAalMs: 900000,
      freshForMs: 900000,
      singlePerUser: false,
      enforceOnAccessToken: true,
    })
    expect(config.signup.redirects.allowList.map(({ source }) => source)).toEqual([
      'https://app.example.com/cb',
      'com.example.app:/cb',
    ])
  })

  // ASVS 6.2.5, 6.3.1, 6.5.5, 6.6.1, 6.6.3, 10.5.1
  it.each([
    ['AUTH_PASSWORD_MIN_LENGTH', '7', 'must be an integer between 8 and 72'],
    ['AUTH_PASSWORD_REQUIRED_CHARACTERS', 'abc:123', 'must not be set in the strict profile'],
    [
      'AUTH_URI_ALLOW_LIST',
      'https://*.example.com',
      'must be a list of whole addresses: the strict profile takes no globs',
    ],
    ['AUTH_URI_ALLOW_LIST', 'example.com/cb', 'must be a list of whole addresses: the strict profile takes no globs'],
    ['AUTH_SECURITY_FAILED_ATTEMPTS', 'off', 'must not be off in the strict profile'],
    ['AUTH_SECURITY_FAILED_ATTEMPTS', '101', 'must be at most 100 in the strict profile'],
    ['AUTH_SECURITY_OTP_MAX_ATTEMPTS', '11', 'must be an integer between 1 and 10'],
    ['AUTH_RATE_LIMIT_VERIFY', 'off', 'must not be off in the strict profile'],
    ['AUTH_RATE_LIMIT_PASSKEY', 'off', 'must not be off in the strict profile'],
    ['AUTH_RATE_LIMIT_ANONYMOUS_USERS', '0', 'must not be off in the strict profile'],
    ['AUTH_SECURITY_REFRESH_TOKEN_ROTATION_ENABLED', 'false', 'must be true in the strict profile'],
    ['AUTH_SECURITY_REFRESH_TOKEN_REUSE_INTERVAL', '11s', 'must be at most 10s in the strict profile'],
    ['AUTH_SESSIONS_ENFORCE_ON_ACCESS_TOKEN', 'false', 'must be true in the strict profile'],
    ['AUTH_SESSIONS_TIMEBOX', '721h', 'must be positive and at most 720h in the strict profile'],
    ['AUTH_SESSIONS_INACTIVITY_TIMEOUT', '0', 'must be positive and at most 24h in the strict profile'],
    ['AUTH_JWT_EXP', '3601', 'must be an integer between 1 and 3600'],
    ['AUTH_MAILER_AUTOCONFIRM', 'true', 'must be false in the strict profile'],
    ['AUTH_MAILER_OTP_EXP', '601', 'must be an integer between 1 and 600'],
    ['AUTH_MFA_CHALLENGE_EXPIRY_DURATION', '601', 'must be an integer between 0 and 600'],
    ['AUTH_MFA_TOTP_ENROLL_ENABLED', 'false', 'must be true in the strict profile'],
    ['AUTH_EXTERNAL_GOOGLE_SKIP_NONCE_CHECK', 'true', 'must be false in the strict profile'],
    ['AUTH_PROFILE', 'stricter', 'must be one of compatible, strict, supabase'],
  ])('refuses what the strict profile does not allow: %s=%s', (name, value, message) => {
    expect(problems({ ...STRICT, [name]: value })).toEqual([`${name} ${message} (got ${JSON.stringify(value)})`])
    const inBothProfiles = name === 'AUTH_PROFILE' || (name === 'AUTH_SESSIONS_INACTIVITY_TIMEOUT' && value === '0')
    if (!inBothProfiles) expect(problems({ ...REQUIRED, [name]: value })).toEqual([])
  })

  // ASVS 8.2.1
  it.each([
    { AUTH_JWT_ADMIN_ROLES: 'service_role,authenticated' },
    { AUTH_JWT_DEFAULT_GROUP_NAME: 'staff', AUTH_JWT_ADMIN_ROLES: 'staff' },
  ])('refuses to make every user an admin, and the compatible profile warns: %o', (roles) => {
    const message = expect.stringMatching(/^AUTH_JWT_ADMIN_ROLES has \w+, the role of new users: anyone who signs up/)
    expect(problems({ ...STRICT, ...roles })).toEqual([message])
    expect(loadAuthConfig({ ...REQUIRED, ...roles }).warnings).toContainEqual(message)
  })

  // ASVS 2.4.1
  it('refuses a short secret, test codes and unreachable limits, and shows no secret', () => {
    expect(problems({ ...STRICT, AUTH_JWT_SECRET: 'short' })).toEqual([
      'AUTH_JWT_SECRET must have at least 32 bytes in the strict profile',
    ])
    expect(problems({ ...STRICT, AUTH_SMS_TEST_OTP: '14155550100:123456' })).toEqual([
      'AUTH_SMS_TEST_OTP must not be set in the strict profile',
    ])
    expect(problems({ ...STRICT, AUTH_RATE_LIMIT_HEADER: '' })).toEqual([
      'AUTH_TRUSTED_PROXIES, AUTH_RATE_LIMIT_HEADER or AUTH_SECURITY_FORWARDED_FOR_ENABLED is required when AUTH_PROFILE is strict',
    ])
    expect(problems({ ...STRICT, AUTH_RATE_LIMIT_HEADER: '', AUTH_TRUSTED_PROXIES: '0' })).toEqual([])
  })

  // ASVS 12.3.1
  it.each([
    ['mail.example.com', undefined, true],
    ['10.0.0.5', undefined, true],
    ['mail.example.com', 'false', false],
    ['LOCALHOST', undefined, false],
    ['127.0.0.1', undefined, false],
    ['::1', undefined, false],
    ['localhost', 'true', true],
  ])('demands TLS of the mail server %s with AUTH_SMTP_REQUIRE_TLS=%s: %s', (host, setting, requireTls) => {
    const env = { AUTH_SMTP_HOST: host, ...(setting === undefined ? {} : { AUTH_SMTP_REQUIRE_TLS: setting }) }
    expect(loadAuthConfig({ ...STRICT, ...env }).mail.smtp?.requireTls).toBe(requireTls)
    expect(loadAuthConfig({ ...REQUIRED, ...env }).mail.smtp?.requireTls).toBe(setting === 'true')
  })

  it('warns of mails that may travel unencrypted to another machine', () => {
    const warnings = (env: Record<string, string>) =>
      loadAuthConfig({ ...STRICT, AUTH_SMTP_REQUIRE_TLS: 'false', ...env }).warnings
    const warning =
      'AUTH_SMTP_REQUIRE_TLS is false and mail.example.com is another machine: mails, and the codes in them, may travel in clear'
    expect(warnings({ AUTH_SMTP_HOST: 'mail.example.com' })).toContain(warning)
    expect(warnings({}).filter((line) => line.includes('SMTP'))).toEqual([])
  })

  it('refuses unknown settings, and the compatible profile only warns', () => {
    const misspelt = 'unknown setting AUTH_JWT_EXPP, did you mean AUTH_JWT_EXP?'
    expect(problems({ ...STRICT, AUTH_JWT_EXPP: '60' })).toEqual([misspelt])
    expect(loadAuthConfig({ ...REQUIRED, AUTH_JWT_EXPP: '60' }).warnings).toContain(misspelt)
    const foreign = { PAYMENTS_PORT: '1', INVENTORY_AUTH_ISSUER: 'x', AUTH_SERVICE_HOST: '10.0.0.1' }
    expect(problems({ ...STRICT, ...foreign, AUTH_PORT: 'tcp://10.0.0.1:80' })).toEqual([])
  })

  it('refuses limits by X-Forwarded-For without a trusted proxy, and the compatible profile only warns', () => {
    const header = { AUTH_RATE_LIMIT_HEADER: 'X-Forwarded-For' }
    expect(problems({ ...STRICT, ...header })).toEqual([
      'AUTH_TRUSTED_PROXIES is required when AUTH_PROFILE is strict and AUTH_RATE_LIMIT_HEADER is X-Forwarded-For',
    ])
    expect(problems({ ...STRICT, ...header, AUTH_TRUSTED_PROXIES: '1' })).toEqual([])
    const warnings = (env: Record<string, string>) => loadAuthConfig({ ...REQUIRED, ...env }).warnings
    expect(warnings(header)).toContain(
      'AUTH_RATE_LIMIT_HEADER is X-Forwarded-For and AUTH_TRUSTED_PROXIES is unset: limits go by the connection',
    )
    expect(warnings({ ...header, AUTH_TRUSTED_PROXIES: '10.0.0.0/8' })).toEqual(warnings({}))
  })
})

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
/** Warnings about names of settings, not about values. */
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
    expect(config.compatibility.healthName).toBe('GoTrue')
  })

  it('selects the profile supabase by any name, unless AUTH_PROFILE is set', () => {
    const compatible = own().compatibility
    expect(own({ GOTRUE_DB_ADVISOR_ENABLED: 'true' }).compatibility.healthName).toBe('GoTrue')
    expect(load({ AUTH_PROFILE: 'compatible' }).compatibility).toEqual(compatible)
    expect(load({ AUTH_PROFILE: 'compatible' }).notes).toEqual([])
    expect(own({ GOTRUE_SITE_URL: '' }).compatibility).toEqual(compatible)
    // Kubernetes sets these variables for a Service called gotrue.
    const service = {
      GOTRUE_SERVICE_HOST: '10.0.0.1',
      GOTRUE_PORT: 'tcp://10.0.0.1:9999',
      GOTRUE_PORT_9999_TCP_PORT: '9999',
    }
    expect(own(service).compatibility).toEqual(compatible)
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
