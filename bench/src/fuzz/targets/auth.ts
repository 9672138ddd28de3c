import { createHash } from 'node:crypto'
import { hash } from '@node-rs/argon2'
import { createMailStore } from '@trestle/stack/mail/mail-store.ts'
import { startSmtpListener } from '@trestle/stack/mail/smtp-listener.ts'
import { startStubProvider } from '@trestle/testing/stub-provider.ts'
import fc from 'fast-check'
import { signAdminToken } from '../../fixtures.ts'
import type { Ready, Target } from '../target.ts'
import { appointOperators, bearer, openAccount, WEB_ORIGIN } from './auth-account.ts'
import { bodies, lexicon, PASSWORD, TEST_CODE, TEST_PHONES, together } from './auth-requests.ts'
import { type Operators, operatorSecrets } from './operators.ts'

const ACTORS = 4
const GATEWAY_TOKEN = 'canary-gateway-token'
const CLIENT_SECRET = 'canary-client-secret'
const TOKENS = ['accessToken', 'refreshToken', 'hashedToken', 'authCode', 'recoveryCode']

const PROVIDER = {
  provider_type: 'oauth2',
  name: 'Fuzz',
  client_id: 'client',
  client_secret: CLIENT_SECRET,
  authorization_url: 'https://issuer.example/authorize',
  token_url: 'https://issuer.example/token',
  userinfo_url: 'https://issuer.example/userinfo',
}

/** Accounts with sessions, factors and open links. Users and an operator send the requests. */
export const authTarget: Target = {
  service: 'auth',
  actors: ACTORS,
  pools: new Set([
    ...[
      'userId',
      'factorId',
      'challengeId',
      'identityId',
      'passkeyId',
      'identifier',
      'email',
      'totpCode',
      'cursor',
      'state',
      'registration',
      'assertion',
      'proof',
      'account',
      'sessionId',
      'messageId',
      'kid',
    ],
    ...['emailOtp', ...TOKENS],
  ]),
  tokens: TOKENS,
  lexicon,
  bodies,
  together,
  headers: {
    'x-supabase-api-version': fc.constantFrom('2024-01-01', '2023-01-01', 'x'),
    'x-jwt-aud': fc.constantFrom('authenticated', 'others'),
    referer: fc.constantFrom('http://localhost:3000/page', 'https://evil.example'),
    accept: fc.constantFrom('text/html', 'application/json'),
  },
  credentialOf: ({ path }) =>
    path.startsWith('/operator/') ? 'operator' : /^\/(admin\/|invite$)/.test(path) ? 'privileged' : 'own',
  errorsOf: 'GET /user',
  pages: /^\/(ready|docs|openapi\.json)(\/|$)/,
  normalPath: (path) => path,
  raw: { get: '/user', post: '/signup' },
  surround: async (stack) => {
    const smtp = await startSmtpListener(
      createMailStore(() => new Date()),
      0,
    )
    stack.defer(smtp.close)
    return {
      env: { ...settings(await startPeers(stack)), AUTH_SMTP_PORT: String(smtp.port) },
      prepare: async (world) => {
        const { ask, memory, deployment } = world
        const admin = bearer(signAdminToken(deployment.secrets.AUTH_JWT_SECRET))
        const passwordHash = await hash(PASSWORD)
        const prepared: string[] = []
        let turn = 0
        // One of three requests uses the newest session. Its account may still be empty.
        const own = (actor: number) => {
          turn += 1
          const token = turn % 3 === 0 ? memory.pick(actor, 'accessToken', 1) : prepared[actor % ACTORS]
          return bearer(String(token ?? ''))
        }
        let operators: Operators | undefined
        let round = 0
        const refresh = async () => {
          round += 1
          operators = await appointOperators({ ...world, admin, name: String(round), passwordHash, last: operators })
          for (const [name, secret] of operatorSecrets(operators)) secrets.set(name, secret)
          for (let actor = 0; actor < ACTORS; actor += 1) {
            const name = `actor${actor}-${round}`
            const phone = `453${String(round * ACTORS + actor).padStart(7, '0')}`
            prepared[actor] = await openAccount({ ask, memory, actor, admin, name, phone, passwordHash })
            const provider = { ...PROVIDER, identifier: `custom:${name}` }
            await ask({ actor, method: 'POST', target: '/admin/custom-providers', body: provider, headers: admin })
          }
        }
        const secrets = new Map([
          ['password', PASSWORD],
          ['secret of a provider', CLIENT_SECRET],
          ['token of the gateway', GATEWAY_TOKEN],
          ['key of the tokens', deployment.secrets.AUTH_JWT_SECRET],
          ['key of the database', deployment.secrets.AUTH_SECURITY_DATABASE_ENCRYPTION_KEY],
          ['token of the operator', admin.authorization],
        ])
        const authorize: Ready['authorize'] = (credential, actor) => {
          if (credential === 'operator' || credential === 'viewer') return operators?.[credential] ?? {}
          return credential === 'privileged' ? admin : own(actor)
        }
        return { authorize, refresh, secrets }
      },
    }
  },
}

/** Enables every option, and disables every limit that would stop requests before their use cases. */
function settings(peersUrl: string): Readonly<Record<string, string>> {
  const on = [
    ...[
      'EXTERNAL_PHONE',
      'EXTERNAL_ANONYMOUS_USERS',
      'MFA_PHONE_ENROLL',
      'MFA_PHONE_VERIFY',
      'SECURITY_MANUAL_LINKING',
    ],
    ...[
      'MFA_RECOVERY_CODES_ENROLL',
      'MFA_RECOVERY_CODES_VERIFY',
      'MFA_WEBAUTHN_ENROLL',
      'MFA_WEBAUTHN_VERIFY',
      'PASSKEY',
      'CUSTOM_OAUTH',
    ],
    'EXTERNAL_KEYCLOAK',
  ]
  const limits = ['EMAIL_SENT', 'SMS_SENT', 'TOKEN_REFRESH', 'VERIFY', 'OTP', 'SSO', 'PASSKEY', 'ANONYMOUS_USERS']
  return {
    ...Object.fromEntries(on.map((name) => [`AUTH_${name}_ENABLED`, 'true'])),
    ...Object.fromEntries(limits.map((name) => [`AUTH_RATE_LIMIT_${name}`, 'off'])),
    AUTH_MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY: 'off',
    AUTH_OPERATOR_SIGN_IN_AS: 'true',
    AUTH_SECURITY_FAILED_ATTEMPTS: 'off',
    AUTH_EXTERNAL_KEYCLOAK_CLIENT_ID: 'client',
    AUTH_EXTERNAL_KEYCLOAK_SECRET: CLIENT_SECRET,
    AUTH_EXTERNAL_KEYCLOAK_URL: peersUrl,
    AUTH_EXTERNAL_KEYCLOAK_REDIRECT_URI: 'http://localhost/callback',
    AUTH_WEBAUTHN_RP_ID: 'localhost',
    AUTH_WEBAUTHN_RP_DISPLAY_NAME: 'Fuzz',
    AUTH_WEBAUTHN_RP_ORIGINS: WEB_ORIGIN,
    AUTH_SMS_PROVIDER: 'twilio',
    AUTH_SMS_TWILIO_ACCOUNT_SID: 'AC1',
    AUTH_SMS_TWILIO_AUTH_TOKEN: GATEWAY_TOKEN,
    AUTH_SMS_TWILIO_MESSAGE_SERVICE_SID: 'MG1',
    AUTH_SMS_TWILIO_API_URL: peersUrl,
    AUTH_SMS_TEST_OTP: TEST_PHONES.map((number) => `${number}:${TEST_CODE}`).join(','),
    AUTH_SMS_TEST_OTP_VALID_UNTIL: '2099-01-01T00:00:00Z',
  }
}

/** Starts an SMS gateway that accepts everything, and a provider that accepts every code. */
async function startPeers(stack: AsyncDisposableStack): Promise<string> {
  const peer = await startStubProvider(({ url, headers, body }) => {
    if (url.endsWith('/token')) {
      const code = new URLSearchParams(body).get('code') ?? ''
      return { body: { access_token: createHash('sha256').update(code).digest('hex'), token_type: 'bearer' } }
    }
    if (!url.endsWith('/userinfo')) return { status: 201, body: { sid: 'SM1', status: 'queued' } }
    const sub = headers.authorization?.slice(-8)
    return { body: { sub, email: `${sub}@provider.example`, email_verified: true, name: 'Ada' } }
  })
  stack.defer(peer.close)
  return peer.url
}
