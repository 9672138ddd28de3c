import { describe, expect, it } from 'vitest'
import { loadAuthConfig } from '../config.ts'

const REQUIRED = {
  AUTH_SITE_URL: 'https://app.example.com',
  AUTH_API_EXTERNAL_URL: 'https://auth.example.com',
  AUTH_DB_DRIVER: 'postgres',
  AUTH_DATABASE_URL: 'postgres://u:p@localhost/db',
  AUTH_JWT_SECRET: 'a secret of at least thirty-two bytes',
  AUTH_SMTP_HOST: 'localhost',
  AUTH_SMTP_PORT: '1025',
  AUTH_SMTP_ADMIN_EMAIL: 'auth@example.com',
}
const SPOTIFY = {
  AUTH_EXTERNAL_SPOTIFY_ENABLED: 'true',
  AUTH_EXTERNAL_SPOTIFY_CLIENT_ID: 'client',
  AUTH_EXTERNAL_SPOTIFY_SECRET: 'secret',
  AUTH_EXTERNAL_SPOTIFY_REDIRECT_URI: 'https://auth.example.com/callback',
}
const AUTOCONFIRM = { AUTH_MAILER_AUTOCONFIRM: 'true' }
const CUSTOM = { AUTH_CUSTOM_OAUTH_ENABLED: 'true' }
const TEST_CODE = { AUTH_SMS_TEST_OTP: '14155550100:123456' }
const PHONES = { AUTH_SMS_AUTOCONFIRM: 'true', AUTH_EXTERNAL_PHONE_ENABLED: 'true' }
const redirects = (list: string) => ({ AUTH_URI_ALLOW_LIST: list })
const outbound = (list: string) => ({ AUTH_SECURITY_OUTBOUND_ALLOWED_HOSTS: list })

const warningsOf = (env: Record<string, string>) => loadAuthConfig({ ...REQUIRED, ...env }).warnings
const beside = (name: string) =>
  `AUTH_MAILER_AUTOCONFIRM is true beside ${name}: anyone who signs in there with the address of another user gets that account`
const anyHost = (glob: string) =>
  `AUTH_URI_ALLOW_LIST has ${glob}, which takes hosts of anybody: links sign people in at pages of strangers`
const wide = (network: string) =>
  `AUTH_SECURITY_OUTBOUND_ALLOWED_HOSTS has ${network}: calls may reach everything in the own network`

it.each<readonly [object, readonly string[]]>([
  [{ ...AUTOCONFIRM, ...SPOTIFY }, [beside('AUTH_EXTERNAL_SPOTIFY_ENABLED')]],
  [{ ...AUTOCONFIRM, ...CUSTOM }, [beside('AUTH_CUSTOM_OAUTH_ENABLED')]],
  [PHONES, ['AUTH_SMS_AUTOCONFIRM is true: anyone who signs up with the phone of another person gets it']],
  [TEST_CODE, ['AUTH_SMS_TEST_OTP has no end, AUTH_SMS_TEST_OTP_VALID_UNTIL: its codes sign in for ever']],
  [redirects('**'), [anyHost('**')]],
  [redirects('https://app.example.com/x,https://**'), [anyHost('https://**')]],
  [redirects('https://*.com/**'), [anyHost('https://*.com/**')]],
  [outbound('0.0.0.0/0,::/0'), [wide('0.0.0.0/0'), wide('::/0')]],
  [outbound('0.0.0.0/1'), [wide('0.0.0.0/1')]],
  [
    { AUTH_SECURITY_FAILED_ATTEMPTS: 'off' },
    ['AUTH_SECURITY_FAILED_ATTEMPTS is off: passwords can be guessed without end'],
  ],
  [
    { AUTH_SECURITY_OTP_MAX_ATTEMPTS: '1000000' },
    ['AUTH_SECURITY_OTP_MAX_ATTEMPTS is above 100: codes can be guessed'],
  ],
])('warns of %o', (env, warnings) => {
  expect(warningsOf({ ...env })).toEqual(warnings)
})

it.each([
  {},
  AUTOCONFIRM,
  SPOTIFY,
  CUSTOM,
  { AUTH_SMS_AUTOCONFIRM: 'true' },
  { ...TEST_CODE, AUTH_SMS_TEST_OTP_VALID_UNTIL: '2030-01-01T00:00:00Z' },
  redirects('https://*.example.com/**,https://app.example.com/*,myapp://*'),
  outbound('10.0.0.0/8,fc00::/7,smtp.internal,10.1.2.3'),
  { AUTH_SECURITY_FAILED_ATTEMPTS: '1000' },
  { AUTH_SECURITY_OTP_MAX_ATTEMPTS: '100' },
])('does not warn of %o', (env) => {
  expect(warningsOf({ ...env })).toEqual([])
})

it('refuses or warns of each danger in the strict profile', () => {
  const strict = { AUTH_PROFILE: 'strict', AUTH_RATE_LIMIT_HEADER: 'X-Real-Ip' }
  for (const env of [AUTOCONFIRM, PHONES, TEST_CODE, redirects('**'), { AUTH_SECURITY_FAILED_ATTEMPTS: 'off' }]) {
    expect(() => warningsOf({ ...strict, ...env })).toThrow('strict profile')
  }
  expect(warningsOf({ ...strict, ...outbound('0.0.0.0/0') })).toEqual([wide('0.0.0.0/0')])
})

const CAPTCHA = { AUTH_SECURITY_CAPTCHA_ENABLED: 'true', AUTH_SECURITY_CAPTCHA_SECRET: 'secret' }
const provider = (name: string) => ({
  [`AUTH_EXTERNAL_${name}_ENABLED`]: 'true',
  [`AUTH_EXTERNAL_${name}_CLIENT_ID`]: 'client',
  [`AUTH_EXTERNAL_${name}_SECRET`]: 'secret',
  [`AUTH_EXTERNAL_${name}_REDIRECT_URI`]: 'https://auth.example.com/callback',
})
const SMS = {
  AUTH_SMS_PROVIDER: 'vonage',
  AUTH_SMS_VONAGE_API_KEY: 'key',
  AUTH_SMS_VONAGE_API_SECRET: 'secret',
  AUTH_SMS_VONAGE_FROM: 'Trestle',
}
const KEYCLOAK = { ...provider('KEYCLOAK'), AUTH_EXTERNAL_KEYCLOAK_URL: 'https://sso.example.com/realms/one' }
const SECRET_OF_CLIENT = 'read the secret of the client, and sign in as anybody'

describe.each(['compatible', 'strict'])('plain HTTP to another machine, AUTH_PROFILE=%s', (profile) => {
  const warnings = (env: Record<string, string>) =>
    loadAuthConfig({ ...REQUIRED, AUTH_RATE_LIMIT_HEADER: 'X-Real-Ip', ...env, AUTH_PROFILE: profile }).warnings

  it.each([
    ['AUTH_API_EXTERNAL_URL', {}, 'read passwords, codes and tokens'],
    ['AUTH_SITE_URL', {}, 'replace the page that takes sessions over, and read them'],
    ['AUTH_EXTERNAL_REDIRECT_URL', {}, 'read the sessions that end there'],
    ['AUTH_MAILER_TEMPLATES_RECOVERY', {}, 'write the mails that carry codes and links'],
    ['AUTH_MAILER_TEMPLATES_MAGIC_LINK', {}, 'write the mails that carry codes and links'],
    ['AUTH_MAILER_URLPATHS_INVITE', {}, 'read the links of mails'],
    ['AUTH_SMS_VONAGE_API_URL', SMS, 'read the codes of SMS and the account that sends them'],
    ['AUTH_SECURITY_CAPTCHA_URL', CAPTCHA, 'read the secret of the captcha, and answer for it'],
    ['AUTH_EXTERNAL_GITLAB_URL', provider('GITLAB'), SECRET_OF_CLIENT],
    ['AUTH_EXTERNAL_KEYCLOAK_URL', KEYCLOAK, SECRET_OF_CLIENT],
    ['AUTH_EXTERNAL_GITHUB_REDIRECT_URI', provider('GITHUB'), 'read the codes of sign-ins'],
  ])('is warned of for %s', (name, others, risk) => {
    const warning = `${name} is http:// and not on this machine: anyone on the network path can ${risk}`
    const on = (url: string) => warnings({ ...others, [name]: url })
    expect(on('http://10.0.0.5/x')).toEqual([warning])
    expect(on('https://other.example/x')).toEqual([])
    expect(on('http://localhost:8080/x')).toEqual([])
  })

  it('is no warning for what is not used', () => {
    expect(
      warnings({ AUTH_SECURITY_CAPTCHA_URL: 'http://10.0.0.5/', AUTH_SMS_TWILIO_API_URL: 'http://10.0.0.5/' }),
    ).toEqual([])
    expect(warnings({ AUTH_EXTERNAL_GITLAB_URL: 'http://10.0.0.5/' })).toEqual([])
  })
})
