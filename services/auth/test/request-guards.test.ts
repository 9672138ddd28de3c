import { randomUUID } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import { openTestApp } from './auth-app.ts'
import { errorBody, statusAndBody } from './bodies.ts'
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
    AUTH_SECURITY_CAPTCHA_ENABLED: 'true',
    AUTH_SECURITY_CAPTCHA_SECRET: 'secret',
    AUTH_SECURITY_CAPTCHA_URL: 'http://127.0.0.1:1/',
  },
})
afterAll(() => Promise.all([limited.close(), unlimited.close(), guarded.close()]))

interface Guarded extends FailingRequest {
  /** Requests that a client has at once, for all rows of a bucket together (reference: Request limits). */
  readonly bucket?: readonly [name: string, burst: number]
  readonly captcha: boolean
}

/** Requests that pass their guards and then fail without side effects. */
const requests: readonly Guarded[] = [
  { method: 'POST', url: '/token', payload: {}, bucket: ['token', 30], captcha: false },
  { method: 'POST', url: '/token?grant_type=password', payload: {}, bucket: ['token', 30], captcha: true },
  { method: 'GET', url: '/verify', bucket: ['verify', 30], captcha: false },
  { method: 'POST', url: '/verify', payload: {}, bucket: ['verify', 30], captcha: false },
  { method: 'POST', url: '/signup', payload: { email: 'x' }, bucket: ['signup', 30], captcha: true },
  {
    method: 'POST',
    url: '/signup',
    payload: { data: { x: 'x'.repeat(70_000) } },
    bucket: ['anonymous', 3],
    captcha: true,
  },
  { method: 'POST', url: '/recover', payload: {}, bucket: ['recover', 30], captcha: true },
  { method: 'POST', url: '/resend', payload: {}, bucket: ['resend', 30], captcha: true },
  { method: 'POST', url: '/magiclink', payload: { email: 'x' }, bucket: ['magiclink', 30], captcha: true },
  { method: 'POST', url: '/otp', payload: {}, bucket: ['otp', 30], captcha: true },
  { method: 'PUT', url: '/user', payload: {}, bucket: ['user', 30], captcha: false },
  { method: 'POST', url: '/factors/x/challenge', bucket: ['factor-challenge', 30], captcha: false },
  { method: 'POST', url: '/factors/x/verify', bucket: ['factor-verify', 30], captcha: false },
  { method: 'POST', url: '/factors/recovery-codes/verify', bucket: ['factor-verify', 30], captcha: false },
  { method: 'POST', url: '/passkeys/authentication/options', captcha: true },
  {
    method: 'POST',
    url: '/passkeys/authentication/verify',
    payload: {},
    bucket: ['passkey', 30],
    captcha: false,
  },
  { method: 'POST', url: '/passkeys/registration/options', bucket: ['passkey', 30], captcha: false },
  { method: 'POST', url: '/passkeys/registration/verify', payload: {}, bucket: ['passkey', 30], captcha: false },
  { method: 'GET', url: '/authorize', bucket: ['sso', 30], captcha: false },
  { method: 'GET', url: '/callback?state=%00', bucket: ['callback', 30], captcha: false },
  { method: 'POST', url: '/callback', payload: { state: 1 }, bucket: ['callback', 30], captcha: false },
  { method: 'GET', url: '/user/identities/authorize', bucket: ['sso', 30], captcha: false },
  { method: 'POST', url: '/invite', payload: {}, captcha: false },
  { method: 'GET', url: '/settings', captcha: false },
]
interface ApiPaths {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly responses: object }>>>>
}

/** The request fails for its body or for a missing access token. */
const isPastGuards = (status: number) => status === 400 || status === 401
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
    // The other endpoints are reached from a provider, guarded by `state`, or from a mail.
    const others = operations.filter(({ redirects }) => redirects).map(({ called }) => called)
    expect(others.sort()).toEqual([
      'GET /authorize',
      'GET /callback',
      'GET /user/identities/authorize',
      'GET /verify',
      'POST /callback',
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
        const answer = await ask(limited, rows[i % rows.length] ?? first, from)
        expect(answer.statusCode).toSatisfy(isPastGuards)
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
        expect((await ask(limited, row, { 'x-real-ip': '192.0.2.2' })).statusCode).toSatisfy(isPastGuards)
        expect((await ask(limited, row, {})).statusCode).toSatisfy(isPastGuards)
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
      for (let i = 0; i < 30; i += 1) expect((await ask(one, '192.0.2.4')).statusCode).not.toBe(429)
      for (const signedIn of [one, other]) {
        expect(statusAndBody(await ask(signedIn, '192.0.2.4'))).toEqual([
          429,
          errorBody(429, 'over_request_rate_limit', 'Request rate limit reached'),
        ])
      }
      expect((await ask(one, '192.0.2.5')).statusCode).not.toBe(429)
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
      for (let i = 0; i < 31; i += 1) expect((await ask(unlimited, row, from)).statusCode).toSatisfy(isPastGuards)
    }
  })
})

describe('captcha', () => {
  const text = 'captcha protection: request disallowed (no captcha_token found)'
  it.each(requests.filter(({ captcha }) => captcha))(
    '400: $method $url refuses a request without a captcha token',
    async (row) => {
      const oauth = row.url.startsWith('/token') ? { error: 'invalid_request', error_description: text } : {}
      await expectFailure(guarded, row, [400, 'captcha_failed', text, oauth])
      const admitted = await ask(guarded, row, OPERATOR)
      expect(admitted.json().error_code).not.toBe('captcha_failed')
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
    expect((await ask(guarded, row, {})).body).not.toContain('captcha')
  })
})
