import { randomUUID } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import { openTestApp } from './auth-app.ts'
import { anyId, errorBody, grantErrorBody, settingsBody, statusAndBody } from './bodies.ts'
import { expectFailure, type FailingRequest } from './expect-failure.ts'
import { OPERATOR } from './forged-token.ts'
import { createSignedIn, type SignedIn } from './signed-in.ts'
import { createSignedUp } from './signed-up.ts'

const PASSKEYS = {
  AUTH_PASSKEY_ENABLED: 'true',
  AUTH_WEBAUTHN_RP_ID: 'localhost',
  AUTH_WEBAUTHN_RP_DISPLAY_NAME: 'Trestle',
  AUTH_WEBAUTHN_RP_ORIGINS: 'http://localhost:3000',
}
const SETTINGS = {
  ...PASSKEYS,
  AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
  AUTH_RATE_LIMIT_HEADER: 'X-Real-IP',
  AUTH_RATE_LIMIT_ANONYMOUS_USERS: '3',
}
const LIMITS = ['TOKEN_REFRESH', 'VERIFY', 'OTP', 'SSO', 'PASSKEY', 'ANONYMOUS_USERS'].map(
  (name) => `RATE_LIMIT_${name}`,
)
const OFF = Object.fromEntries(
  [...LIMITS, 'MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY'].map((name) => [`AUTH_${name}`, 'off']),
)
const limited = await openTestApp({ settings: SETTINGS })
const unlimited = await openTestApp({ settings: { ...SETTINGS, ...OFF } })
const guarded = await openTestApp({
  settings: {
    ...PASSKEYS,
    AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
    AUTH_SECURITY_CAPTCHA_ENABLED: 'true',
    AUTH_SECURITY_CAPTCHA_SECRET: 'secret',
    AUTH_SECURITY_CAPTCHA_URL: 'http://127.0.0.1:1/',
  },
})
afterAll(() => Promise.all([limited.close(), unlimited.close(), guarded.close()]))

interface Guarded extends FailingRequest {
  /** The burst of a bucket. All rows of a bucket share it (reference: Request limits). */
  readonly bucket?: readonly [name: string, burst: number]
  readonly captcha: boolean
  /** The status and body after the guards admit the request. It then fails without side effects. */
  readonly past: readonly [status: number, body: unknown]
}

const invalid = (text: string) => [400, errorBody(400, 'validation_failed', text)] as const
const badJson = (reason: string) =>
  [400, errorBody(400, 'bad_json', `Could not parse request body as JSON: ${reason}`)] as const
const noBearer = [401, errorBody(401, 'no_authorization', 'This endpoint requires a valid Bearer token')] as const
const noType = invalid('Verify requires a verification type')
const question = {
  challenge_id: anyId,
  options: {
    ...{ rpId: 'localhost', timeout: 300_000, userVerification: 'preferred' },
    challenge: expect.stringMatching(/^[\w-]{43}$/),
  },
  expires_at: expect.any(Number),
}

const requests: readonly Guarded[] = [
  {
    method: 'POST',
    url: '/token',
    payload: {},
    bucket: ['token', 30],
    captcha: false,
    past: [400, grantErrorBody('unsupported_grant_type', 'invalid_credentials', 'unsupported_grant_type')],
  },
  {
    method: 'POST',
    url: '/token?grant_type=password',
    payload: {},
    bucket: ['token', 30],
    captcha: true,
    past: [400, grantErrorBody('invalid_request', 'validation_failed', 'missing email or phone')],
  },
  { method: 'GET', url: '/verify', bucket: ['verify', 30], captcha: false, past: noType },
  { method: 'POST', url: '/verify', payload: {}, bucket: ['verify', 30], captcha: false, past: noType },
  {
    method: 'POST',
    url: '/signup',
    payload: { email: 'x' },
    bucket: ['signup', 30],
    captcha: true,
    past: invalid('Signup requires a valid password'),
  },
  {
    method: 'POST',
    url: '/signup',
    payload: { data: { x: 'x'.repeat(70_000) } },
    bucket: ['anonymous', 3],
    captcha: true,
    past: invalid(
      'user_metadata and app_metadata together may not be larger than 8192 bytes, because access tokens hold them',
    ),
  },
  {
    method: 'POST',
    url: '/recover',
    payload: {},
    bucket: ['recover', 30],
    captcha: true,
    past: invalid('Password recovery requires an email'),
  },
  {
    method: 'POST',
    url: '/resend',
    payload: {},
    bucket: ['resend', 30],
    captcha: true,
    past: invalid('Missing one of these types: signup, email_change, sms, phone_change'),
  },
  {
    method: 'POST',
    url: '/magiclink',
    payload: { email: 'x' },
    bucket: ['magiclink', 30],
    captcha: true,
    past: invalid('Unable to validate email address: invalid format'),
  },
  {
    method: 'POST',
    url: '/otp',
    payload: {},
    bucket: ['otp', 30],
    captcha: true,
    past: invalid('One of email or phone must be set'),
  },
  { method: 'PUT', url: '/user', payload: {}, bucket: ['user', 30], captcha: false, past: noBearer },
  { method: 'POST', url: '/factors/x/challenge', bucket: ['factor-challenge', 30], captcha: false, past: noBearer },
  { method: 'POST', url: '/factors/x/verify', bucket: ['factor-verify', 30], captcha: false, past: noBearer },
  {
    method: 'POST',
    url: '/factors/recovery-codes/verify',
    bucket: ['factor-verify', 30],
    captcha: false,
    past: noBearer,
  },
  { method: 'POST', url: '/passkeys/authentication/options', captcha: true, past: [200, question] },
  {
    method: 'POST',
    url: '/passkeys/authentication/verify',
    payload: {},
    bucket: ['passkey', 30],
    captcha: false,
    past: badJson('challenge_id: must be a string'),
  },
  { method: 'POST', url: '/passkeys/registration/options', bucket: ['passkey', 30], captcha: false, past: noBearer },
  {
    method: 'POST',
    url: '/passkeys/registration/verify',
    payload: {},
    bucket: ['passkey', 30],
    captcha: false,
    past: noBearer,
  },
  {
    method: 'GET',
    url: '/authorize',
    bucket: ['sso', 30],
    captcha: false,
    past: invalid('Unsupported provider: no provider is named'),
  },
  {
    method: 'GET',
    url: '/callback?state=%00',
    bucket: ['callback', 30],
    captcha: false,
    past: invalid('Text may not contain NUL characters or lone surrogates'),
  },
  {
    method: 'GET',
    url: '/callback/x?state=%00',
    bucket: ['callback', 30],
    captcha: false,
    past: invalid('Text may not contain NUL characters or lone surrogates'),
  },
  {
    method: 'POST',
    url: '/callback',
    payload: { state: 1 },
    bucket: ['callback', 30],
    captcha: false,
    past: badJson('state: must be a string'),
  },
  {
    method: 'POST',
    url: '/callback/x',
    payload: { state: 1 },
    bucket: ['callback', 30],
    captcha: false,
    past: badJson('state: must be a string'),
  },
  { method: 'GET', url: '/user/identities/authorize', bucket: ['sso', 30], captcha: false, past: noBearer },
  { method: 'POST', url: '/invite', payload: {}, captcha: false, past: noBearer },
  {
    method: 'GET',
    url: '/settings',
    captcha: false,
    past: [200, settingsBody({ anonymous_users_enabled: true, passkeys_enabled: true })],
  },
]
interface ApiPaths {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly responses: object }>>>>
}

const byBucket = [...Map.groupBy(requests, ({ bucket }) => bucket?.[0])]
const ask = ({ app }: typeof limited, { method, url, payload }: FailingRequest, headers: Record<string, string>) =>
  app.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) })

// ASVS 6.3.1, 6.3.4
describe('request buckets', () => {
  // ASVS 2.4.1
  it('guard every endpoint that can return a session', async () => {
    const { paths }: ApiPaths = JSON.parse(JSON.stringify(await limited.app.describeApi()))
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { responses }]) => ({
        called: `${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, 'x')}`,
        holdsSession: /"access_token"|schemas\/Session"/.test(JSON.stringify(responses)),
        redirects: '302' in responses || '303' in responses,
      })),
    )
    const ways = operations.filter(({ holdsSession }) => holdsSession).map(({ called }) => called)
    expect(ways.sort()).toEqual([
      'POST /factors/recovery-codes/verify',
      'POST /factors/x/verify',
      'POST /passkeys/authentication/verify',
      'POST /signup',
      'POST /token',
      'POST /verify',
    ])
    const limitedOnes = requests.filter(({ bucket }) => bucket).map(({ method, url }) => `${method} ${url}`)
    expect(ways.filter((way) => !limitedOnes.includes(way))).toEqual([])
    // The other endpoints are reached from a provider, with a `state`, or from a mail.
    const others = operations.filter(({ redirects }) => redirects).map(({ called }) => called)
    expect(others.sort()).toEqual([
      'GET /authorize',
      'GET /callback',
      'GET /callback/x',
      'GET /user/identities/authorize',
      'GET /verify',
      'POST /callback',
      'POST /callback/x',
      'POST /verify',
    ])
  })

  it.each(byBucket.filter(([name]) => name !== undefined))(
    '429: refuses more requests than the limit of %s',
    async (name, rows) => {
      const [first] = rows
      if (!first?.bucket) throw new Error('no bucket')
      const from = { 'x-real-ip': `192.0.2.1 for ${name}` }
      // All rows of a bucket count together.
      for (let i = 0; i < first.bucket[1]; i += 1) {
        const row = rows[i % rows.length] ?? first
        expect(statusAndBody(await ask(limited, row, from))).toEqual(row.past)
      }
      for (const row of rows) {
        const oauth = row.url.startsWith('/token')
          ? { error: 'slow_down', error_description: 'Request rate limit reached' }
          : {}
        await expectFailure(limited, { ...row, headers: from }, [
          429,
          'over_request_rate_limit',
          'Request rate limit reached',
          oauth,
        ])
        expect(Number((await ask(limited, row, from)).headers['retry-after'])).toBeGreaterThan(0)
        expect(statusAndBody(await ask(limited, row, { 'x-real-ip': '192.0.2.2' }))).toEqual(row.past)
        expect(statusAndBody(await ask(limited, row, {}))).toEqual(row.past)
      }
    },
  )

  it.each(['challenge', 'verify'])(
    '429: counts a client at /factors/:factorId/%s, whoever is signed in',
    async (step) => {
      const [one, other] = [await createSignedIn(limited), await createSignedIn(limited)]
      const ask = async (signedIn: SignedIn, from: string) => {
        const url = `/factors/${randomUUID()}/${step}`
        const headers = { ...signedIn.headers, 'x-real-ip': `${from} for ${step}` }
        const payload = { challenge_id: randomUUID(), code: '123456' }
        return limited.app.inject({ method: 'POST', url, headers, payload })
      }
      const past = [404, errorBody(404, 'mfa_factor_not_found', 'Factor not found')]
      for (let i = 0; i < 30; i += 1) expect(statusAndBody(await ask(one, '192.0.2.4'))).toEqual(past)
      for (const signedIn of [one, other]) {
        expect(statusAndBody(await ask(signedIn, '192.0.2.4'))).toEqual([
          429,
          errorBody(429, 'over_request_rate_limit', 'Request rate limit reached'),
        ])
      }
      expect(statusAndBody(await ask(one, '192.0.2.5'))).toEqual(past)
    },
  )

  it.each(['/signup', '/otp', '/recover', '/token', '/callback'])(
    '429: counts %s before the body is parsed',
    async (url) => {
      const ask = () => limited.app.inject({ method: 'POST', url, payload: '{', headers: { 'x-real-ip': '192.0.2.3' } })
      const text = 'Could not parse request body as JSON: the body is not JSON from character 2 on'
      const oauth = url === '/token' ? { error: 'invalid_request', error_description: text } : {}
      for (let i = 0; i < 30; i += 1) expect((await ask()).json()).toEqual(errorBody(400, 'bad_json', text, oauth))
      const slower = 'Request rate limit reached'
      const slowDown = url === '/token' ? { error: 'slow_down', error_description: slower } : {}
      const refused = errorBody(429, 'over_request_rate_limit', slower, slowDown)
      expect(statusAndBody(await ask())).toEqual([429, refused])
    },
  )

  it('limit nothing when they are switched off', async () => {
    const from = { 'x-real-ip': '192.0.2.1' }
    for (const row of requests.filter(({ bucket }) => bucket)) {
      for (let i = 0; i < 31; i += 1) expect(statusAndBody(await ask(unlimited, row, from))).toEqual(row.past)
    }
  })
})

describe('captcha', () => {
  const text = 'captcha protection: request disallowed (no captcha_token found)'
  it.each(requests.filter(({ captcha }) => captcha))(
    '400: $method $url refuses a request without a captcha token, unless an operator sends it',
    async (row) => {
      const oauth = row.url.startsWith('/token') ? { error: 'invalid_request', error_description: text } : {}
      await expectFailure(guarded, row, [400, 'captcha_failed', text, oauth])
      expect(statusAndBody(await ask(guarded, row, OPERATOR))).toEqual(row.past)
    },
  )

  it('400: refuses a former admin and an ended session without a captcha token', async () => {
    const { email, password, user } = await createSignedUp(guarded.deps, { role: 'supabase_admin' })
    const signIn = { method: 'POST', url: '/token?grant_type=password', payload: { email, password } } as const
    const { access_token: token } = (await ask(guarded, signIn, OPERATOR)).json()
    const again = async () => {
      const { statusCode, body } = await ask(guarded, signIn, { authorization: `Bearer ${token}` })
      return statusCode === 200 ? statusCode : JSON.parse(body)
    }
    const refused = { code: 400, error_code: 'captcha_failed', msg: text }
    const oauth = { error: 'invalid_request', error_description: text }
    const setRole = (role: string) =>
      guarded.deps.db.updateTable('users').set({ role }).where('id', '=', user.id).execute()
    expect(await again()).toBe(200)
    await setRole('authenticated')
    expect(await again()).toEqual({ ...refused, ...oauth })
    await setRole('supabase_admin')
    await guarded.deps.db.deleteFrom('sessions').where('user_id', '=', user.id).execute()
    expect(await again()).toEqual({ ...refused, ...oauth })
  })

  it.each(requests.filter(({ captcha }) => !captcha))('is not asked for by $method $url', async (row) => {
    expect(statusAndBody(await ask(guarded, row, {}))).toEqual(row.past)
  })
})
