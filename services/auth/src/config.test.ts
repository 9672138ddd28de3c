import { ConfigError } from '@trestle/common/config/environment.ts'
import { describe, expect, it } from 'vitest'
import { settings } from './config/settings.ts'
import { loadAuthConfig } from './config.ts'
import { parseTemplate } from './messages/mail-template.ts'

const required = {
  AUTH_SITE_URL: 'https://app.example.com',
  AUTH_API_EXTERNAL_URL: 'https://auth.example.com',
  AUTH_DB_DRIVER: 'postgres',
  DATABASE_URL: 'postgres://u:p@localhost/db',
  AUTH_JWT_SECRET: 'a secret of at least thirty-two bytes',
  AUTH_MAILER_AUTOCONFIRM: 'true',
}
const smtp = { AUTH_SMTP_HOST: 'localhost', AUTH_SMTP_PORT: '1025', AUTH_SMTP_ADMIN_EMAIL: 'auth@example.com' }
const load = (env: Record<string, string>) => loadAuthConfig({ ...required, ...smtp, ...env })
const problems = (env: Record<string, string>): readonly string[] => {
  try {
    loadAuthConfig(env)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}

describe('loadAuthConfig', () => {
  it('names all missing settings at once', () => {
    expect(problems({})).toEqual([
      'AUTH_SITE_URL is required',
      'AUTH_API_EXTERNAL_URL is required',
      'AUTH_DB_DRIVER is required',
      'AUTH_DB_DATABASE_URL is required',
      'AUTH_JWT_SECRET is required',
      'AUTH_SMTP_HOST is required',
      'AUTH_SMTP_PORT is required',
      'AUTH_SMTP_ADMIN_EMAIL is required',
    ])
  })

  it.each([
    [{ AUTH_SITE_URL: '/home' }, 'AUTH_SITE_URL must be an absolute URI with scheme and host (got "/home")'],
    [{ AUTH_JWT_EXP: 'x' }, 'AUTH_JWT_EXP must be a positive integer (got "x")'],
    [
      { AUTH_JWT_VALID_METHODS: 'HS256, none' },
      'AUTH_JWT_VALID_METHODS must be a list of ES256, EdDSA, RS256, HS256, ES512, RS512 (got "HS256, none")',
    ],
    [
      {
        AUTH_JWT_KEYS: `[{"kty":"oct","k":"${'A'.repeat(43)}","kid":"x","key_ops":["sign"]}]`,
        AUTH_JWT_KEY_ID: 'x',
      },
      'AUTH_JWT_KEY_ID must not be the kid of a key in AUTH_JWT_KEYS',
    ],
    [{ AUTH_JWT_EXP: '0' }, 'AUTH_JWT_EXP must be a positive integer (got "0")'],
    [{ AUTH_API_PORT: '70000' }, 'AUTH_API_PORT must be a port between 0 and 65535 (got "70000")'],
    [{ PORT: 'x' }, 'PORT must be a port between 0 and 65535 (got "x")'],
    [
      { AUTH_HOOK_BEFORE_USER_CREATED_URI: 'http://example.com/hook' },
      'AUTH_HOOK_BEFORE_USER_CREATED_URI must be an https:// URL, or http:// at localhost, not a function in the database (got "http://example.com/hook")',
    ],
    [
      { AUTH_HOOK_CUSTOM_ACCESS_TOKEN_SECRETS: 'whsec_x' },
      'AUTH_HOOK_CUSTOM_ACCESS_TOKEN_SECRETS must be v1,whsec_ and base64 of at least 24 bytes; several joined by |',
    ],
    [
      { AUTH_HOOK_CUSTOM_ACCESS_TOKEN_ENABLED: 'true', AUTH_HOOK_CUSTOM_ACCESS_TOKEN_URI: 'http://localhost:1/x' },
      'AUTH_HOOK_CUSTOM_ACCESS_TOKEN_SECRETS is required when AUTH_HOOK_CUSTOM_ACCESS_TOKEN_ENABLED is true',
    ],
    [
      { AUTH_WEBAUTHN_RP_ORIGINS: 'https://app.example.com/path' },
      'AUTH_WEBAUTHN_RP_ORIGINS must be a list of origins such as https://app.example.com (got "https://app.example.com/path")',
    ],
    [
      { AUTH_PASSKEY_ENABLED: 'true', AUTH_WEBAUTHN_RP_ID: 'x', AUTH_WEBAUTHN_RP_DISPLAY_NAME: 'x' },
      'AUTH_WEBAUTHN_RP_ORIGINS is required when passkeys or WebAuthn factors are on',
    ],
    [{ AUTH_DB_DRIVER: 'mysql' }, 'AUTH_DB_DRIVER must be one of postgres (got "mysql")'],
    [
      { DATABASE_URL: 'mysql://root:hunter2@h/db' },
      'DATABASE_URL must be a postgres:// connection string, with %20 for a blank and %25 for a %',
    ],
    [
      { AUTH_DB_NAMESPACE: 'App' },
      'AUTH_DB_NAMESPACE must be lower-case letters, digits and _, at most 31 (got "App")',
    ],
    [
      { AUTH_URI_ALLOW_LIST: 'https://[' },
      'AUTH_URI_ALLOW_LIST has a bad glob: a bracket, brace or escape is not closed (got "https://[")',
    ],
    [{ AUTH_DISABLE_SIGNUP: 'maybe' }, 'AUTH_DISABLE_SIGNUP must be true or false (got "maybe")'],
    [{ AUTH_SMTP_ADMIN_EMAIL: 'nobody' }, 'AUTH_SMTP_ADMIN_EMAIL must be an email address (got "nobody")'],
    [
      { AUTH_SMS_PROVIDER: 'pigeon' },
      'AUTH_SMS_PROVIDER must be one of twilio, messagebird, textlocal, vonage (got "pigeon")',
    ],
    [
      { AUTH_SECURITY_CAPTCHA_PROVIDER: 'x' },
      'AUTH_SECURITY_CAPTCHA_PROVIDER must be one of hcaptcha, turnstile (got "x")',
    ],
    [
      { AUTH_RATE_LIMIT_EMAIL_SENT: '30/x' },
      'AUTH_RATE_LIMIT_EMAIL_SENT must be a number per hour, N/duration such as 30/1m, or off (got "30/x")',
    ],
    [{ AUTH_RATE_LIMIT_VERIFY: 'x' }, 'AUTH_RATE_LIMIT_VERIFY must be a number or off (got "x")'],
    [
      { AUTH_SECURITY_DATABASE_ENCRYPTION_KEY: 'c2hvcnQ' },
      'AUTH_SECURITY_DATABASE_ENCRYPTION_KEY must be base64url of 32 bytes',
    ],
    [
      { AUTH_SECURITY_DATABASE_ENCRYPTION_DECRYPTION_KEYS: 'c2hvcnQ' },
      'AUTH_SECURITY_DATABASE_ENCRYPTION_DECRYPTION_KEYS must be a list of base64url keys of 32 bytes',
    ],
    [
      { AUTH_SMTP_HEADERS: '{"a":"b"}' },
      'AUTH_SMTP_HEADERS must be a JSON object of header names to lists of values (got "{\\"a\\":\\"b\\"}")',
    ],
    [
      { AUTH_MAILER_TEMPLATES_INVITE: 'file:///etc/passwd' },
      'AUTH_MAILER_TEMPLATES_INVITE must be a http:// or https:// URL, or a path under AUTH_SITE_URL (got "file:///etc/passwd")',
    ],
    [{ AUTH_SMS_TEST_OTP: '+1 415 555 0100' }, 'AUTH_SMS_TEST_OTP must be a list of phone:code'],
    [
      { AUTH_SMS_TEST_OTP_VALID_UNTIL: 'tomorrow' },
      'AUTH_SMS_TEST_OTP_VALID_UNTIL must be an RFC 3339 time (got "tomorrow")',
    ],
    [
      { AUTH_SECURITY_OUTBOUND_ALLOWED_HOSTS: '10.0.0.0/99' },
      'AUTH_SECURITY_OUTBOUND_ALLOWED_HOSTS must be a list of hosts and networks such as 10.0.0.0/8 (got "10.0.0.0/99")',
    ],
    [
      { AUTH_MAILER_URLPATHS_CONFIRMATION: 'http://[' },
      'AUTH_MAILER_URLPATHS_CONFIRMATION must be a path or a URL (got "http://[")',
    ],
    [
      { AUTH_MAILER_OTP_EXP: '999999999999' },
      'AUTH_MAILER_OTP_EXP must be an integer between 1 and 315360000 (got "999999999999")',
    ],
    [
      { AUTH_API_EXTERNAL_URL: 'https://auth.example.com?a=1' },
      'AUTH_API_EXTERNAL_URL must be a URL without query and fragment (got "https://auth.example.com?a=1")',
    ],
    [{ AUTH_LOG_LEVEL: 'loud' }, 'AUTH_LOG_LEVEL must be one of panic, fatal, error, warn, info, debug (got "loud")'],
  ])('refuses %j', (env, problem) => {
    expect(problems({ ...required, ...env })).toEqual([problem])
  })

  it('demands a mail server when addresses must be confirmed', () => {
    const env = { ...required, AUTH_MAILER_AUTOCONFIRM: 'false' }
    const wanted = ['AUTH_SMTP_HOST is required', 'AUTH_SMTP_PORT is required', 'AUTH_SMTP_ADMIN_EMAIL is required']
    expect(problems(env)).toEqual(wanted)
    expect(problems({ ...env, AUTH_EXTERNAL_EMAIL_ENABLED: 'false' })).toEqual([])
  })

  it('refuses settings that treat an address as both verified and unverified', () => {
    const env = { ...required, AUTH_MAILER_AUTOCONFIRM: 'true', AUTH_MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS: 'true' }
    expect(problems(env)).toEqual([
      'AUTH_MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS and AUTH_MAILER_AUTOCONFIRM cannot both be true',
    ])
  })

  it('demands the settings that an enabled feature needs', () => {
    expect(
      problems({
        ...required,
        AUTH_SECURITY_CAPTCHA_ENABLED: 'true',
        AUTH_RATE_LIMIT_STORE: 'redis',
        AUTH_EXTERNAL_KEYCLOAK_ENABLED: 'true',
        // An empty list counts as not set.
        AUTH_EXTERNAL_KEYCLOAK_CLIENT_ID: ' , ',
        AUTH_EXTERNAL_KEYCLOAK_SECRET: 'x',
      }),
    ).toEqual([
      'AUTH_SECURITY_CAPTCHA_SECRET is required when AUTH_SECURITY_CAPTCHA_ENABLED is true',
      'AUTH_REDIS_URL is required when AUTH_RATE_LIMIT_STORE is redis',
      'AUTH_EXTERNAL_KEYCLOAK_CLIENT_ID is required when AUTH_EXTERNAL_KEYCLOAK_ENABLED is true',
      'AUTH_EXTERNAL_KEYCLOAK_REDIRECT_URI is required when AUTH_EXTERNAL_KEYCLOAK_ENABLED is true',
      'AUTH_EXTERNAL_KEYCLOAK_URL is required when AUTH_EXTERNAL_KEYCLOAK_ENABLED is true',
    ])
  })

  it('warns of each dangerous setting', () => {
    expect(load({}).warnings).toEqual([])
    expect(
      loadAuthConfig({
        ...required,
        AUTH_JWT_SECRET: 'short',
        AUTH_JWT_DEFAULT_GROUP_NAME: 'member',
        AUTH_OPERATOR_TOKEN: 'x',
        AUTH_DB_MAX_POOL_SIZE: '64',
        AUTH_SMS_PROVIDER: 'textlocal',
        AUTH_EXTERNAL_GITHUB_URL: 'https://github.example.com',
        AUTH_EXTERNAL_APPLE_URL: 'https://apple.example.com',
      }).warnings,
    ).toEqual([
      'AUTH_OPERATOR_TOKEN is deprecated and has no effect',
      'AUTH_DB_MAX_POOL_SIZE above 32 makes the database slower, not faster',
      'AUTH_JWT_DEFAULT_GROUP_NAME is a deprecated name: it sets the role of new users, tokens have no groups',
      'AUTH_JWT_SECRET is shorter than 32 bytes: tokens that it signs can be forged by guessing it',
      'mail is dropped, because AUTH_SMTP_HOST, AUTH_SMTP_PORT, AUTH_SMTP_ADMIN_EMAIL is not set',
      'no SMS can be sent, because AUTH_SMS_TEXTLOCAL_API_KEY is not set',
      'no SMS can be sent, because AUTH_SMS_TEXTLOCAL_SENDER is not set',
      'AUTH_EXTERNAL_APPLE_URL has no effect: apple has one address',
    ])
  })

  it('warns of a tenant of azure by its domain', () => {
    const azure = (url: string) =>
      load({
        AUTH_EXTERNAL_AZURE_ENABLED: 'true',
        AUTH_EXTERNAL_AZURE_CLIENT_ID: 'client',
        AUTH_EXTERNAL_AZURE_SECRET: 'secret',
        AUTH_EXTERNAL_AZURE_REDIRECT_URI: 'https://auth.example.com/callback',
        AUTH_EXTERNAL_AZURE_URL: url,
      }).warnings.filter((warning) => warning.startsWith('AUTH_EXTERNAL_AZURE_URL'))
    const warning =
      'AUTH_EXTERNAL_AZURE_URL must name the tenant by its id, as its tokens do: nobody can sign in at azure'
    expect(azure('https://login.microsoftonline.com/contoso.example')).toEqual([warning])
    expect(azure('https://login.microsoftonline.com/72f988bf-86f1-41af-91ab-2d7cd011db47')).toEqual([])
    expect(azure('https://login.microsoftonline.com/common')).toEqual([])
  })

  it('warns of a malformed Twilio account', () => {
    const account = { AUTH_SMS_TWILIO_AUTH_TOKEN: 't', AUTH_SMS_TWILIO_MESSAGE_SERVICE_SID: 'MG1' }
    const twilio = (sid: string) => load({ AUTH_SMS_PROVIDER: 'twilio', AUTH_SMS_TWILIO_ACCOUNT_SID: sid, ...account })
    const { sms, warnings } = twilio('SK1')
    expect(sms.gateway).toBeUndefined()
    expect(warnings).toContain('no SMS can be sent, because AUTH_SMS_TWILIO_ACCOUNT_SID does not begin with AC')
    expect(twilio('AC1').sms.gateway).toBeDefined()
  })

  it('has the documented defaults', () => {
    const config = load({})
    expect(config.server).toEqual({
      host: '0.0.0.0',
      port: 8081,
      externalUrl: 'https://auth.example.com',
      handlerTimeoutMs: 10_000,
      shutdownDelayMs: 0,
      addressHeaders: [],
      corsAllowedHeaders: [],
      logLevel: 'info',
      tracingEnabled: false,
      docsEnabled: true,
      metrics: { enabled: false, exporter: 'opentelemetry', host: '0.0.0.0', port: 9100 },
      otlpProtocol: 'http/protobuf',
      serviceName: 'auth',
    })
    expect(config.database).toEqual({
      role: undefined,
      url: 'postgres://u:p@localhost/db',
      migrationUrl: 'postgres://u:p@localhost/db',
      isProduction: false,
      poolSize: 16,
      prepared: true,
      connectTimeoutMs: 30000,
      schema: 'auth',
      namespace: '',
      cleanupEnabled: true,
      auditInPostgres: true,
      auditRetentionMs: 31536000000,
      anonymousRetentionMs: 2592000000,
      unconfirmedRetentionMs: 2592000000,
    })
    expect(config.signup).toEqual({
      disabled: false,
      emailEnabled: true,
      phoneEnabled: false,
      anonymousEnabled: false,
      redirects: { siteUrl: 'https://app.example.com', site: 'host', allowList: [] },
      pkce: 'optional',
      confirmerOwnsAccount: false,
      revealsUnconfirmed: true,
      linkHosts: [],
    })
    expect(config.rateLimits).toEqual({
      store: 'memory',
      email: { points: 30, windowMs: 3_600_000 },
      sms: { points: 30, windowMs: 3600000 },
      token: 150,
      verify: 30,
      otp: 30,
      sso: 30,
      passkey: 30,
      anonymousUsers: 30,
      factors: 15,
      failedChecks: 20,
    })
    expect(config.mail.intervalMs).toEqual({ confirmation: 900_000, other: 60_000 })
    expect(config.external.providers.get('gitlab')).toEqual({
      enabled: false,
      clientIds: [],
      secret: undefined,
      redirectUri: undefined,
      url: 'https://gitlab.com',
      extraAudiences: [],
      trustedConnections: [],
      emailOptional: false,
      checksNonce: true,
    })
  })

  // ASVS 6.5.4
  it('reads numbers, rates, lists and bounds as documented', () => {
    const config = load({
      AUTH_RATE_LIMIT_EMAIL_SENT: '10/1m',
      AUTH_RATE_LIMIT_SMS_SENT: '0',
      AUTH_RATE_LIMIT_VERIFY: 'off',
      AUTH_RATE_LIMIT_OTP: '0',
      AUTH_MAILER_OTP_LENGTH: '11',
      AUTH_SMS_OTP_LENGTH: '8',
      AUTH_SMTP_MAX_FREQUENCY: '5',
      AUTH_EXTERNAL_FLOW_STATE_EXPIRY_DURATION: '10s',
      AUTH_URI_ALLOW_LIST: ' https://{a,b}.test/* , ,myapp://**',
      AUTH_SMS_TEST_OTP: '+1 415 555 0100:123456, 4915=000000',
      AUTH_JWT_ADMIN_ROLES: 'service_role, ops',
      AUTH_MAILER_SUBJECTS_INVITE: 'Come in',
      AUTH_MAILER_NOTIFICATIONS_EMAIL_CHANGED_ENABLED: 'y',
      AUTH_SMTP_HEADERS: '{"X-Kind":["$messageType"]}',
    })
    expect(config.rateLimits.email).toEqual({ points: 10, windowMs: 600_000 })
    expect(config.rateLimits.sms).toEqual({ points: 0, windowMs: 3_600_000 })
    expect([config.rateLimits.verify, config.rateLimits.otp]).toEqual(['off', 'off'])
    expect([config.mail.codeLength, config.sms.codeLength]).toEqual([6, 8])
    expect(config.mail.intervalMs).toEqual({ confirmation: 5_000, other: 5_000 })
    expect(config.external.flowStateLifetimeMs).toBe(300_000)
    expect(config.signup.redirects.allowList.map(({ source }) => source)).toEqual([
      'https://{a,b}.test/*',
      'myapp://**',
    ])
    expect([...config.sms.testCodes]).toEqual([
      ['14155550100', '123456'],
      ['4915', '000000'],
    ])
    expect(config.jwt.adminRoles).toEqual(['service_role', 'ops'])
    expect([config.mail.subject('INVITE'), config.mail.subject('RECOVERY')]).toEqual(
      ['Come in', 'Reset your password'].map(parseTemplate),
    )
    expect(config.mail.isNotified('EMAIL_CHANGED')).toBe(true)
    expect(config.mail.smtp?.headers).toEqual({ 'X-Kind': ['$messageType'] })
  })

  it('takes the built-in text for a subject or an SMS that is no template, and warns with the place', () => {
    const config = load({
      AUTH_MAILER_SUBJECTS_INVITE: '{{ if eq .Data.locale "de" }}Hallo{{ end }}',
      AUTH_MAILER_SUBJECTS_RECOVERY: 'a {{ if .Email }}',
      AUTH_SMS_TEMPLATE: 'Code:\n {{ .Code | html }}',
      AUTH_MFA_PHONE_TEMPLATE: '{{ end }}',
    })
    const builtIn = parseTemplate('Your code is {{ .Code }}')
    expect(['INVITE' as const, 'RECOVERY' as const].map(config.mail.subject)).toEqual(
      ["You've been invited", 'Reset your password'].map(parseTemplate),
    )
    expect([config.sms.template, config.mfa.phone.template]).toEqual([builtIn, builtIn])
    expect(config.templateProblems).toEqual([
      'AUTH_MAILER_SUBJECTS_INVITE is no template: line 1, column 1: {{ eq .Data.locale "de" }} is not a name',
      'AUTH_MAILER_SUBJECTS_RECOVERY is no template: line 1, column 3: an {{ if }} has no {{ end }}',
      'AUTH_SMS_TEMPLATE is no template: line 2, column 2: {{ .Code | html }} is not a name',
      'AUTH_MFA_PHONE_TEMPLATE is no template: line 1, column 1: {{ end }} is not a name',
    ])
    expect(config.warnings.filter((line) => line.includes('is no template'))).toEqual(
      config.templateProblems.map((problem) => `${problem}; the built-in text is sent`),
    )
  })

  it.each([
    ['TOKEN_REFRESH', 'token'],
    ['VERIFY', 'verify'],
    ['OTP', 'otp'],
    ['SSO', 'sso'],
    ['PASSKEY', 'passkey'],
    ['ANONYMOUS_USERS', 'anonymousUsers'],
  ] as const)('switches RATE_LIMIT_%s off', (setting, limit) => {
    for (const value of ['off', 'OFF', '0']) {
      const config = load({ [`AUTH_RATE_LIMIT_${setting}`]: value })
      expect(config.rateLimits[limit]).toBe('off')
    }
  })

  it('switches the other limits off, also by 0 unless 0 is a limit', () => {
    const load0 = (value: string) =>
      load({
        AUTH_RATE_LIMIT_EMAIL_SENT: value,
        AUTH_RATE_LIMIT_SMS_SENT: value,
        AUTH_MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY: value,
        AUTH_SECURITY_FAILED_ATTEMPTS: value,
      }).rateLimits
    expect(load0('off')).toEqual({
      store: 'memory',
      email: 'off',
      sms: 'off',
      token: 150,
      verify: 30,
      otp: 30,
      sso: 30,
      passkey: 30,
      anonymousUsers: 30,
      factors: 'off',
      failedChecks: 'off',
    })
    const none = { points: 0, windowMs: 3_600_000 }
    expect(load0('0')).toEqual({
      store: 'memory',
      email: none,
      sms: none,
      token: 150,
      verify: 30,
      otp: 30,
      sso: 30,
      passkey: 30,
      anonymousUsers: 30,
      factors: 'off',
      failedChecks: 'off',
    })
  })

  it('prefers the prefixed name, and the environment to the file', () => {
    expect(load({ PORT: '1', AUTH_API_PORT: '2' }).server.port).toBe(2)
    expect(load({ PORT: '1' }).server.port).toBe(1)
    expect(load({ AUTH_API_PORT: '', PORT: '1' }).server.port).toBe(1)
  })
})

describe('settings', () => {
  it('are declared without their prefix', () => {
    expect(Object.keys(settings).filter((name) => name.startsWith('AUTH_'))).toEqual([])
  })
})
