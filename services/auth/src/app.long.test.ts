import { randomUUID } from 'node:crypto'
import { startStubProvider } from '@trestle/testing/stub-provider.ts'
import type { LightMyRequestResponse } from 'fastify'
import { afterAll, describe, expect, it } from 'vitest'
import { openTestApp } from '../test/auth-app.ts'
import { anyId, errorBody, grantErrorBody, statusAndBody, unconfirmedBody } from '../test/bodies.ts'
import { expectUser } from '../test/expect-user.ts'
import { forgeBearer, OPERATOR } from '../test/forged-token.ts'
import { openMailApp } from '../test/mail-app.ts'

const { app, close } = await openTestApp({
  settings: {
    AUTH_REQUEST_ID_HEADER: 'X-Trace',
    AUTH_RATE_LIMIT_HEADER: 'X-Real-Ip',
    AUTH_CORS_ALLOWED_HEADERS: 'X-Extra',
  },
})
afterAll(close)

const post = (payload: string | Buffer, headers: Record<string, string> = {}, url = '/signup') =>
  app.inject({ method: 'POST', url, payload, headers })
const badJson = (reason: unknown) => ({ code: 400, error_code: 'bad_json', msg: reason })
const JSON_PREFIX = 'Could not parse request body as JSON: '
const invalid = (text: string) => errorBody(400, 'validation_failed', text)
/** The page to which a browser returns without a flow. */
const STATE_MISSING = `http://localhost:3000/?${new URLSearchParams({
  error: 'invalid_request',
  error_code: 'bad_oauth_callback',
  error_description: 'OAuth state parameter missing',
})}`
/** Returns the body of an answer, or the page to which it redirects. */
const bodyOrPage = (answer: LightMyRequestResponse): unknown => answer.headers.location ?? answer.json()

describe('requests', () => {
  it.each([
    ['application/json;charset=UTF-8'],
    ['text/plain'],
    ['application/x-www-form-urlencoded'],
    ['nonsense'],
    [undefined],
  ])('400: reads a body as JSON for the content type %s', async (type) => {
    const answer = await post('{"email":"x"}', type === undefined ? {} : { 'content-type': type })
    expect(answer.json()).toEqual(errorBody(400, 'validation_failed', 'Signup requires a valid password'))
  })

  it.each([
    ['', `${JSON_PREFIX}the body is empty`],
    ['[]', `${JSON_PREFIX}the body is not an object`],
    ['{"email":', expect.stringContaining(JSON_PREFIX)],
    [Buffer.from([0x7b, 0xff, 0x7d]), `${JSON_PREFIX}the body is not UTF-8`],
  ])('400: refuses the body %j', async (body, reason) => {
    const answer = await post(body, { 'content-type': 'application/json' })
    expect(statusAndBody(answer)).toEqual([400, badJson(reason)])
  })

  it('422: reads the body null as an object without members', async () => {
    const [none, empty] = [await post(' null\n'), await post('{}')]
    expect(none.json()).toEqual({
      code: 422,
      error_code: 'anonymous_provider_disabled',
      msg: 'Anonymous sign-ins are disabled',
    })
    expect([none.statusCode, none.json()]).toEqual([empty.statusCode, empty.json()])
  })

  it('400: refuses NUL in a query or a path', async () => {
    const refused = {
      code: 400,
      error_code: 'validation_failed',
      msg: 'Text may not contain NUL characters or lone surrogates',
    }
    expect((await app.inject('/verify?type=a%00&token=x')).json()).toEqual(refused)
  })

  // ASVS 15.2.2
  it.each([
    ['/signup', 262_144, errorBody(422, 'anonymous_provider_disabled', 'Anonymous sign-ins are disabled')],
    ['/otp', 262_144, invalid('One of email or phone must be set')],
    ['/magiclink', 262_144, errorBody(422, 'validation_failed', 'Magic link requires an email')],
    ['/token', 65_536, grantErrorBody('unsupported_grant_type', 'invalid_credentials', 'unsupported_grant_type')],
    ['/verify', 65_536, invalid('Verify requires a verification type')],
    ['/recover', 65_536, invalid('Password recovery requires an email')],
    ['/resend', 65_536, invalid('Missing one of these types: signup, email_change, sms, phone_change')],
    ['/callback', 16_384, STATE_MISSING],
    ['/admin/users', 1_048_576, invalid('Cannot create a user without either an email or phone')],
  ])('413: POST %s reads %d bytes and refuses more', async (url, max, read) => {
    const ask = (bytes: number) => {
      const payload = `{"a":"${'x'.repeat(bytes - 8)}"}`
      return app.inject({ method: 'POST', url, payload, headers: { ...OPERATOR, 'content-type': 'application/json' } })
    }
    expect(bodyOrPage(await ask(max))).toEqual(read)
    const text = `Request body too large (max ${max} bytes)`
    const oauth = url === '/token' ? { error: 'invalid_request', error_description: text } : {}
    expect((await ask(max + 1)).json()).toEqual(errorBody(413, 'request_entity_too_large', text, oauth))
  })

  it('413: PUT /user refuses a body larger than the limit of bodies with metadata, in bytes', async () => {
    const headers = { authorization: forgeBearer({ sub: randomUUID() }), 'content-type': 'application/json' }
    const ask = (bytes: number) =>
      app.inject({ method: 'PUT', url: '/user', headers, payload: `{"a":"${'x'.repeat(bytes - 8)}"}` })
    expect(statusAndBody(await ask(262_144))).toEqual([
      403,
      errorBody(403, 'user_not_found', 'User from sub claim in JWT does not exist'),
    ])
    expect(statusAndBody(await ask(262_145))).toEqual([
      413,
      errorBody(413, 'request_entity_too_large', 'Request body too large (max 262144 bytes)'),
    ])
  })

  it.each([
    ['/token?grant_type=password', grantErrorBody('invalid_request', 'validation_failed', 'missing email or phone')],
    ['/callback', STATE_MISSING],
  ])('400: %s reads a form with 100 fields and refuses more', async (url, read) => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const ask = (payload: string) => app.inject({ method: 'POST', url, payload, headers })
    expect(bodyOrPage(await ask(Array.from({ length: 99 }, (_, index) => `f${index}&`).join('')))).toEqual(read)
    for (const form of ['a&'.repeat(100), '&'.repeat(16_000)]) {
      const text = 'Could not parse request body as a form: more than 100 fields'
      const oauth = url.startsWith('/token') ? { error: 'invalid_request', error_description: text } : {}
      expect((await ask(form)).json()).toEqual(errorBody(400, 'bad_json', text, oauth))
    }
  })

  it('400: refuses more than 10,000 members before it parses them', async () => {
    const members = (count: number) => `{"data":[${'1,'.repeat(count - 1)}1]}`
    const answer = await post(members(10_001), { 'content-type': 'application/json' })
    expect(answer.json()).toEqual(badJson(`${JSON_PREFIX}more than 10000 members`))
    const other = await post(members(10_000), { 'content-type': 'application/json' })
    expect(other.json()).toEqual(badJson(`${JSON_PREFIX}data: must be an object`))
  })

  it('400: refuses too many members in a body without metadata', async () => {
    // Give each object other names, which makes parsing ten times slower.
    const body = (objects: number) =>
      JSON.stringify({ a: Array.from({ length: objects }, (_, at) => ({ [`b${at}`]: 1, [`c${at}`]: 2 })) })
    const answer = await post(body(251), {}, '/token?grant_type=password')
    expect(answer.json()).toEqual(grantErrorBody('invalid_request', 'bad_json', `${JSON_PREFIX}more than 500 members`))
    const other = await post(body(250), {}, '/token?grant_type=password')
    expect(other.json()).toEqual(grantErrorBody('invalid_request', 'validation_failed', 'missing email or phone'))
  })

  it('404: refuses an unknown path', async () => {
    expect(statusAndBody(await app.inject('/nowhere'))).toEqual([404, errorBody(404, 'not_found', 'Not found')])
  })

  it('400: refuses a malformed path', async () => {
    expect(statusAndBody(await app.inject('/%zz'))).toEqual([
      400,
      errorBody(400, 'validation_failed', 'Malformed request'),
    ])
  })

  it('405: refuses another method at a known path, with the methods that it has', async () => {
    const answer = await app.inject('/signup')
    expect([answer.statusCode, answer.headers.allow]).toEqual([405, 'POST'])
    expect(answer.json()).toEqual(errorBody(405, 'method_not_allowed', 'Method not allowed'))
    expect(statusAndBody(await app.inject({ method: 'DELETE', url: '/signup/' }))).toEqual([
      405,
      errorBody(405, 'method_not_allowed', 'Method not allowed'),
    ])
  })

  // ASVS 15.3.7
  it('takes the first of a repeated query parameter', async () => {
    const ask = (query: string) => app.inject({ url: `/admin/users?${query}`, headers: OPERATOR })
    expect((await ask('page=1&page=0')).statusCode).toBe(200)
    expect(statusAndBody(await ask('page=0&page=1'))).toEqual([
      400,
      errorBody(
        400,
        'validation_failed',
        'Bad Pagination Parameters: page must be an integer between 1 and 1000000000',
      ),
    ])
  })

  it('takes the request id from the header that the setting names', async () => {
    const id = (value: string) => app.inject({ url: '/health', headers: { 'x-trace': value } })
    expect((await id('abc-123')).headers['x-request-id']).toBe('abc-123')
    expect((await id('with space')).headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
    expect((await id('x'.repeat(129))).headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
  })
})

describe('the path /auth/v1', () => {
  const CLIENT = { apikey: 'sb_publishable_any', authorization: 'Bearer sb_publishable_any' }

  it.each([
    ['/auth/v1/health', '/health'],
    ['/auth/v1/health/', '/health'],
    ['/auth/v1', '/'],
    ['/auth/v1?a=b', '/'],
  ])('200: %s is answered as %s, with the key of a Supabase client or without', async (below, bare) => {
    const accept = 'text/html, application/json'
    const first = await app.inject({ url: below, headers: { ...CLIENT, accept } })
    const second = await app.inject({ url: bare, headers: { accept } })
    expect([first.statusCode, first.body]).toEqual([200, second.body])
  })

  it('404: is taken away once, and as a whole segment', async () => {
    for (const url of ['/auth/v1/auth/v1/health', '/auth/v1health', '/auth/v2/health', '/x/auth/v1/health'])
      expect(statusAndBody(await app.inject({ url }))).toEqual([404, errorBody(404, 'not_found', 'Not found')])
  })

  it('200: a sign-up reads its query and body, whatever the header apikey says', async () => {
    const test = await openTestApp({ settings: { AUTH_MAILER_AUTOCONFIRM: 'true' } })
    const url = '/auth/v1/signup?redirect_to=https%3A%2F%2Felsewhere.example'
    const answer = await test.post(url, { email: 'ada@example.com', password: 'correct horse battery' }, CLIENT)
    expect([answer.statusCode, answer.headers['x-redirect-refused']]).toEqual([200, 'not-listed; source=query'])
    await test.close()
  })
})

describe('answers', () => {
  // ASVS 3.2.1, 3.4.4, 3.4.6, 4.1.1
  it('carry the documented headers and no other', async () => {
    expect((await app.inject('/health')).headers).toEqual({
      date: expect.any(String),
      connection: 'keep-alive',
      'content-length': expect.any(String),
      'x-request-id': anyId,
      'access-control-allow-origin': '*',
      'access-control-expose-headers': 'X-Total-Count, Link, X-Supabase-Api-Version, X-Redirect-Refused',
      'content-type': 'application/json; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    })
  })

  it('204: answers a preflight with the documented headers', async () => {
    const headers = { origin: 'https://app.test', 'access-control-request-method': 'POST' }
    const answer = await app.inject({ method: 'OPTIONS', url: '/signup', headers })
    expect(answer.statusCode).toBe(204)
    expect([
      answer.headers['access-control-allow-origin'],
      answer.headers['access-control-allow-methods'],
      answer.headers['access-control-allow-headers'],
    ]).toEqual([
      '*',
      'GET, POST, PUT, PATCH, DELETE',
      'Accept, Authorization, Content-Type, X-Client-IP, X-Client-Info, X-JWT-AUD, X-Supabase-Api-Version, X-Auth-Api-Version, apikey, X-Extra',
    ])
    expect(answer.headers['access-control-allow-credentials']).toBeUndefined()
  })

  it.each(['/signup', '/unknown'])('204: answers OPTIONS that is no preflight: %s', async (url) => {
    const answer = await app.inject({ method: 'OPTIONS', url })
    expect({ status: answer.statusCode, body: answer.body }).toEqual({ status: 204, body: '' })
  })

  it.each(['x-supabase-api-version', 'x-auth-api-version'])(
    'have errors of the newer version for the header %s',
    async (name) => {
      const answer = await post('{}', { [name]: '2024-01-01' })
      expect(answer.json()).toEqual({
        code: 'anonymous_provider_disabled',
        message: 'Anonymous sign-ins are disabled',
      })
      expect(answer.headers['x-supabase-api-version']).toBe('2024-01-01')
      expect((await post('{}', { [name]: '2023-01-01' })).json()).toEqual(
        errorBody(422, 'anonymous_provider_disabled', 'Anonymous sign-ins are disabled'),
      )
    },
  )

  it('have errors of the newer version also before a route is found', async () => {
    const headers = { 'x-supabase-api-version': '2024-01-01' }
    for (const url of ['/%zz', `/${'x'.repeat(8_192)}`]) {
      const answer = await app.inject({ url, headers })
      expect(answer.json()).toEqual({ code: 'validation_failed', message: 'Malformed request' })
      const { 'x-supabase-api-version': version, 'x-frame-options': frames } = answer.headers
      expect([version, frames]).toEqual(['2024-01-01', 'DENY'])
    }
  })

  it('429: refuses a client over its limit before the body is read', async () => {
    const ask = (ip: string) => app.inject({ url: '/verify', headers: { 'x-real-ip': ip } })
    const admitted = [400, errorBody(400, 'validation_failed', 'Verify requires a verification type')]
    for (let i = 0; i < 30; i += 1) expect(statusAndBody(await ask('1.1.1.1'))).toEqual(admitted)
    const answer = await ask('1.1.1.1')
    expect(answer.json()).toEqual({
      code: 429,
      error_code: 'over_request_rate_limit',
      msg: 'Request rate limit reached',
    })
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(200)
    expect(statusAndBody(await ask('2.2.2.2'))).toEqual(admitted)
    expect(statusAndBody(await app.inject('/verify'))).toEqual(admitted)
  })
})

describe('captcha', () => {
  it('asks the provider once per request, except for admins', async () => {
    const provider = await startStubProvider(({ body }) => {
      const token = new URLSearchParams(body).get('response')
      if (token === 'broken') return { body: '<html>' }
      return { body: token === 'good' ? { success: true } : { success: false, 'error-codes': ['invalid', 'expired'] } }
    })
    const guarded = await openMailApp({
      AUTH_SECURITY_CAPTCHA_ENABLED: 'true',
      AUTH_SECURITY_CAPTCHA_SECRET: 'captcha secret',
      AUTH_SECURITY_CAPTCHA_URL: `${provider.url}/siteverify`,
    })
    const signUp = (captcha: object, headers = {}) =>
      guarded.post('/signup', { email: 'a@example.com', password: 'correct horse', ...captcha }, headers)
    const failed = (msg: string) => ({ code: 400, error_code: 'captcha_failed', msg })
    expect((await signUp({})).json()).toEqual(failed('captcha protection: request disallowed (no captcha_token found)'))
    expect((await signUp({ captcha_token: 'bad' })).json()).toEqual(
      failed('captcha protection: request disallowed (invalid, expired)'),
    )
    expect((await signUp({ captcha_token: 'broken' })).json()).toEqual(
      errorBody(500, 'unexpected_failure', 'captcha verification process failed', { error_id: anyId }),
    )
    expectUser(await signUp({ gotrue_meta_security: { captcha_token: 'good' } }), unconfirmedBody('a@example.com'))
    expect(provider.requests.at(-1)).toEqual({
      method: 'POST',
      url: '/siteverify',
      headers: {
        host: expect.any(String),
        connection: 'keep-alive',
        'content-type': 'application/x-www-form-urlencoded',
        'content-length': expect.any(String),
      },
      body: 'secret=captcha+secret&response=good&remoteip=127.0.0.1',
    })
    await provider.close()
    expect(statusAndBody(await signUp({ captcha_token: 'good' }))).toEqual([
      500,
      errorBody(500, 'unexpected_failure', 'captcha verification process failed', { error_id: anyId }),
    ])
    await guarded.close()
  })
})

describe('endpoints that are not built', () => {
  it.each([
    ['GET', '/sso/saml/metadata', 'saml_provider_disabled', 'SAML 2.0 is disabled'],
    ['POST', '/passkeys/registration/options', 'passkey_disabled', 'Passkeys are disabled'],
    ['GET', '/passkeys/', 'passkey_disabled', 'Passkeys are disabled'],
    ['PATCH', '/passkeys/1', 'passkey_disabled', 'Passkeys are disabled'],
    ['GET', '/oauth/authorize', 'feature_disabled', 'OAuth server is disabled'],
    ['GET', '/user/oauth/grants', 'feature_disabled', 'OAuth server is disabled'],
    ['GET', '/admin/sso/providers', 'saml_provider_disabled', 'SAML 2.0 is disabled'],
    ['GET', '/admin/oauth/clients', 'feature_disabled', 'OAuth server is disabled'],
    ['POST', '/admin/custom-providers', 'feature_disabled', 'Custom OAuth providers are disabled'],
    ['GET', '/admin/users/1/passkeys', 'passkey_disabled', 'Passkeys are disabled'],
  ] as const)('404: refuses %s %s', async (method, url, code, msg) => {
    const answer = await app.inject({ method, url, headers: OPERATOR, payload: '{' })
    expect(answer.json()).toEqual({ code: 404, error_code: code, msg })
    const anonymous = await app.inject({ method, url })
    expect(anonymous.statusCode).toBe(url.startsWith('/admin/') ? 401 : 404)
  })
})
