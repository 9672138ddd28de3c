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
  AUTH_RATE_LIMIT_HEADER: 'X-Real-Ip',
}
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
    loadAuthConfig({ ...REQUIRED, ...env, AUTH_PROFILE: profile }).warnings

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
    const warning = `${name} is http:// and not on this machine: whoever is between can ${risk}`
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
