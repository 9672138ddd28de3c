import { createServer } from 'node:http'
import { createMailStore } from '@trestle/stack/mail/mail-store.ts'
import { startSmtpListener } from '@trestle/stack/mail/smtp-listener.ts'
import fc from 'fast-check'
import { z } from 'zod'
import { freePort } from '../../processes/free-port.ts'
import { signAdminToken } from '../../services/admin-token.ts'
import type { Ask, Target } from '../target.ts'
import { bodies, lexicon, PASSWORD, TEST_CODE, TEST_PHONES } from './auth-requests.ts'
import { totpCode } from './totp-code.ts'

const ACTORS = 4
const Session = z.object({ access_token: z.string(), user: z.object({ id: z.string() }) })
const Factor = z.object({ id: z.string(), totp: z.object({ secret: z.string() }) })
const Id = z.object({ id: z.string() })

/** Accounts with sessions, factors and outstanding links, asked for by their owners and by an operator. */
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
      'code',
      'cursor',
    ],
    ...['accessToken', 'refreshToken', 'hashedToken', 'emailOtp', 'authCode'],
  ]),
  lexicon,
  bodies,
  headers: {
    'x-supabase-api-version': fc.constantFrom('2024-01-01', '2023-01-01', 'x'),
    'x-jwt-aud': fc.constantFrom('authenticated', 'others'),
    referer: fc.constantFrom('http://localhost:3000/page', 'https://evil.example'),
  },
  isPrivileged: ({ path }) => path.startsWith('/admin/') || path === '/invite',
  errorsOf: 'GET /user',
  pages: /^\/(ready|docs|openapi\.json|sso|oauth|admin\/sso)(\/|$)/,
  normalPath: (path) => path,
  raw: { get: '/user', post: '/signup' },
  surround: async (stack) => {
    const smtp = await startSmtpListener(
      createMailStore(() => new Date()),
      0,
    )
    stack.defer(smtp.close)
    return {
      env: { ...settings(await startGateway(stack)), AUTH_SMTP_PORT: String(smtp.port) },
      prepare: async ({ ask, memory, deployment }) => {
        const admin = { authorization: `Bearer ${signAdminToken(deployment.secrets.AUTH_JWT_SECRET)}` }
        const own = (actor: number) => ({ authorization: `Bearer ${memory.pick(actor, 'accessToken', 1) ?? ''}` })
        let round = 0
        const refresh = async () => {
          round += 1
          for (let actor = 0; actor < ACTORS; actor += 1) {
            await signIn({ ask, admin, actor, email: `actor${actor}-${round}@fuzz.example` })
            const first = await enroll({ ask, actor, headers: own(actor), name: 'first' })
            await ask({ actor, method: 'POST', ...first, headers: own(actor) })
            // From here on the session is of the second level, and another factor waits for its code.
            await ask({ actor, method: 'POST', target: '/factors/recovery-codes', body: {}, headers: own(actor) })
            const second = await enroll({ ask, actor, headers: own(actor), name: 'second' })
            memory.keep(actor, 'totpCode', second.body.code)
          }
        }
        const secrets = new Map([
          ['password', PASSWORD],
          ['secret of a provider', 'canary-client-secret'],
          ['key of the tokens', deployment.secrets.AUTH_JWT_SECRET],
          ['key of the database', deployment.secrets.AUTH_SECURITY_DATABASE_ENCRYPTION_KEY],
          ['token of the operator', admin.authorization],
        ])
        return { authorize: (role, actor) => (role === 'privileged' ? admin : own(actor)), refresh, secrets }
      },
    }
  },
}

/** Everything that can be switched on, and no limit that would keep requests from their use cases. */
function settings(gatewayUrl: string): Readonly<Record<string, string>> {
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
    'EXTERNAL_GITHUB',
  ]
  const limits = ['EMAIL_SENT', 'SMS_SENT', 'TOKEN_REFRESH', 'VERIFY', 'OTP', 'SSO', 'PASSKEY', 'ANONYMOUS_USERS']
  return {
    ...Object.fromEntries(on.map((name) => [`AUTH_${name}_ENABLED`, 'true'])),
    ...Object.fromEntries(limits.map((name) => [`AUTH_RATE_LIMIT_${name}`, 'off'])),
    ...{ AUTH_MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY: 'off', AUTH_SECURITY_FAILED_ATTEMPTS: 'off' },
    ...{ AUTH_EXTERNAL_GITHUB_CLIENT_ID: 'client', AUTH_EXTERNAL_GITHUB_SECRET: 'canary-client-secret' },
    AUTH_EXTERNAL_GITHUB_REDIRECT_URI: 'http://localhost/callback',
    ...{
      AUTH_WEBAUTHN_RP_ID: 'localhost',
      AUTH_WEBAUTHN_RP_DISPLAY_NAME: 'Fuzz',
      AUTH_WEBAUTHN_RP_ORIGINS: 'http://localhost:3000',
    },
    AUTH_SMS_PROVIDER: 'twilio',
    ...{
      AUTH_SMS_TWILIO_ACCOUNT_SID: 'AC1',
      AUTH_SMS_TWILIO_AUTH_TOKEN: 'canary-gateway-token',
      AUTH_SMS_TWILIO_MESSAGE_SERVICE_SID: 'MG1',
    },
    AUTH_SMS_TWILIO_API_URL: gatewayUrl,
    AUTH_SMS_TEST_OTP: TEST_PHONES.map((number) => `${number}:${TEST_CODE}`).join(','),
    AUTH_SMS_TEST_OTP_VALID_UNTIL: '2099-01-01T00:00:00Z',
  }
}

/** An SMS gateway that takes everything. */
async function startGateway(stack: AsyncDisposableStack): Promise<string> {
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(201, { 'content-type': 'application/json' }).end('{"sid":"SM1","status":"queued"}')
  })
  const port = await freePort()
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  stack.defer(() => new Promise<void>((resolve) => server.close(() => resolve())))
  return `http://127.0.0.1:${port}`
}

interface SigningIn {
  readonly ask: Ask
  readonly actor: number
  readonly admin: Readonly<Record<string, string>>
  readonly email: string
}

/** A new account with a session and an outstanding link: the last one may be banned, deleted or signed out. */
async function signIn({ ask, actor, admin: headers, email }: SigningIn): Promise<void> {
  const post = (target: string, body: object, more = {}) => ask({ actor, method: 'POST', target, body, headers: more })
  await post('/admin/users', { email, password: PASSWORD, email_confirm: true }, headers)
  Session.parse(await post('/token?grant_type=password', { email, password: PASSWORD }))
  await post('/admin/generate_link', { type: 'magiclink', email }, headers)
  await ask({ actor, method: 'GET', target: '/admin/users?cursor=&per_page=5', headers })
}

interface Enrolling {
  readonly ask: Ask
  readonly actor: number
  readonly headers: Readonly<Record<string, string>>
  readonly name: string
}

/** Adds an authenticator app and asks for its code. @returns what has to be sent to show it */
async function enroll({ ask, actor, headers, name }: Enrolling) {
  const post = (target: string, body: object) => ask({ actor, method: 'POST', target, body, headers })
  const { id, totp } = Factor.parse(await post('/factors', { factor_type: 'totp', friendly_name: name }))
  const challenge = Id.parse(await post(`/factors/${id}/challenge`, {}))
  const code = totpCode(totp.secret, new Date())
  return { target: `/factors/${id}/verify`, body: { challenge_id: challenge.id, code } }
}
