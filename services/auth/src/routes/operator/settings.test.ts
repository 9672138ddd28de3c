import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestApp, type TestApp } from '../../../test/auth-app.ts'
import { statusAndBody } from '../../../test/bodies.ts'
import { createOperator, OPERATOR_SETTINGS, type SignedInOperator } from '../../../test/operators.ts'
import { PROVIDERS } from '../../config/external.ts'
import { HOOK_NAMES } from '../../config/hooks.ts'

const SECRET = 'c2VjcmV0LW9mLWEtaG9vay10aGF0LW5vYm9keS1zZWVz'
const SETTINGS = {
  ...OPERATOR_SETTINGS,
  AUTH_CUSTOM_OAUTH_ENABLED: 'true',
  AUTH_EXTERNAL_GITHUB_ENABLED: 'true',
  AUTH_EXTERNAL_GITHUB_CLIENT_ID: 'shop,app',
  AUTH_EXTERNAL_GITHUB_SECRET: 'client-secret-of-github',
  AUTH_EXTERNAL_GITHUB_REDIRECT_URI: 'https://auth.shop.example/callback',
  AUTH_HOOK_BEFORE_USER_CREATED_ENABLED: 'true',
  AUTH_HOOK_BEFORE_USER_CREATED_URI: 'https://hooks.shop.example:8443/secret-path?key=1',
  AUTH_HOOK_BEFORE_USER_CREATED_SECRETS: `v1,whsec_${SECRET}`,
  AUTH_RATE_LIMIT_EMAIL_SENT: '30/1m',
  AUTH_RATE_LIMIT_SMS_SENT: 'off',
  AUTH_RATE_LIMIT_TOKEN_REFRESH: '150',
  AUTH_RATE_LIMIT_VERIFY: 'off',
  AUTH_RATE_LIMIT_OTP: '20',
  AUTH_RATE_LIMIT_SSO: '25',
  AUTH_RATE_LIMIT_PASSKEY: '35',
  AUTH_RATE_LIMIT_ANONYMOUS_USERS: '40',
  AUTH_MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY: '15',
  AUTH_SECURITY_FAILED_ATTEMPTS: '10',
  AUTH_SMTP_HOST: 'mail.shop.example',
  AUTH_SMTP_PORT: '587',
  AUTH_SMTP_ADMIN_EMAIL: 'shop@shop.example',
  AUTH_SMTP_USER: 'mailer',
  AUTH_SMTP_PASS: 'password-of-the-mailer',
  AUTH_SMS_PROVIDER: 'vonage',
  AUTH_SMS_VONAGE_API_KEY: 'key-at-vonage',
  AUTH_SMS_VONAGE_API_SECRET: 'secret-at-vonage',
  AUTH_SMS_VONAGE_FROM: 'Shop',
}

let test: TestApp
let viewer: SignedInOperator
beforeAll(async () => {
  test = await openTestApp({ settings: SETTINGS })
  viewer = await createOperator(test, 'viewer')
  await test.deps.db
    .insertInto('custom_oauth_providers')
    .values({
      id: crypto.randomUUID(),
      identifier: 'custom:wiki',
      client_secret: { key_id: 'k', alg: 'aes-gcm-hkdf', nonce: '', data: '' },
      settings: {
        provider_type: 'oauth2',
        name: 'Wiki',
        client_id: 'wiki-client',
        authorization_url: 'https://wiki.example/authorize',
        token_url: 'https://wiki.example/token',
        userinfo_url: 'https://wiki.example/userinfo',
      },
      created_at: new Date(),
      updated_at: new Date(),
    })
    .execute()
})
afterAll(() => test.close())

const ask = () => test.app.inject({ url: '/operator/settings', headers: { ...viewer.credentials } })

describe('GET /operator/settings', () => {
  it('200: shows profile, providers, hooks, limits and where messages go', async () => {
    const hook = { enabled: true, host: 'hooks.shop.example:8443' }
    expect(statusAndBody(await ask())).toEqual([
      200,
      {
        profile: 'compatible',
        providers: PROVIDERS.map((name) =>
          name === 'github' ? { name, enabled: true, client_id: 'shop' } : { name, enabled: false },
        ),
        custom_providers: [
          {
            identifier: 'custom:wiki',
            name: 'Wiki',
            provider_type: 'oauth2',
            enabled: true,
            client_id: 'wiki-client',
          },
        ],
        hooks: HOOK_NAMES.map((name) => ({ name, ...(name === 'BEFORE_USER_CREATED' ? hook : { enabled: false }) })),
        limits: [
          { name: 'token', value: 150, per_seconds: 300 },
          { name: 'verify', value: null, per_seconds: 300 },
          { name: 'otp', value: 20, per_seconds: 300 },
          { name: 'anonymous_users', value: 40, per_seconds: 3_600 },
          { name: 'factors', value: 15, per_seconds: 60 },
          { name: 'sso', value: 25, per_seconds: 300 },
          { name: 'passkey', value: 35, per_seconds: 300 },
          { name: 'failed_checks', value: 10, per_seconds: 900 },
          { name: 'email', value: 30, per_seconds: 1_800 },
          { name: 'sms', value: null, per_seconds: 3_600 },
        ],
        mail: { host: 'mail.shop.example', from: 'shop@shop.example' },
        sms: { provider: 'vonage' },
        warnings: [
          expect.stringMatching(/^the custom providers custom:wiki share \/callback, and answers of github, /),
        ],
      },
    ])
  })

  it('200: shows no secret, and of URLs the host alone', async () => {
    const { statusCode, body } = await ask()
    expect(statusCode).toBe(200)
    for (const secret of [SECRET, 'secret-path', 'client-secret', 'password-of', 'at-vonage', 'wiki.example'])
      expect(body).not.toContain(secret)
  })
})
