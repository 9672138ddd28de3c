import { createHash } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import {
  amrEntry,
  anyTime,
  claimsBody,
  confirmedBody,
  emailIdentity,
  errorBody,
  refusalsIn,
  sessionBody,
  statusAndBody,
} from '../../test/bodies.ts'
import { expectSession } from '../../test/expect-user.ts'
import { openMailApp } from '../../test/mail-app.ts'

const main = await openMailApp({
  AUTH_RATE_LIMIT_EMAIL_SENT: 'off',
  AUTH_URI_ALLOW_LIST: 'myapp://callback',
  AUTH_JWT_ALLOWED_AUDIENCES: 'other,mobile',
})
const { app, clock, deps } = main
const password = 'correct horse'
const OTP_EXPIRED = { code: 403, error_code: 'otp_expired', msg: 'Token has expired or is invalid' }
const LINK_EXPIRED = { code: 403, error_code: 'otp_expired', msg: 'Email link is invalid or has expired' }
const LINK_EXPIRED_FRAGMENT =
  '#error=access_denied&error_code=otp_expired&error_description=Email+link+is+invalid+or+has+expired&sb='

afterAll(() => main.close())

let count = 0
async function signUp(body = {}) {
  count += 1
  const email = `user${count}@example.com`
  const answer = await main.post('/signup', { email, password, ...body })
  return { email, id: String(answer.json().id), ...(await main.readMail(email)) }
}
const verify = (body: object, headers = {}) => main.post('/verify', body, headers)
const follow = (query: string, headers = {}) => app.inject({ method: 'GET', url: `/verify?${query}`, headers })
const userOf = (id: string) => deps.db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
const sessionsOf = (userId: string) =>
  deps.db.selectFrom('sessions').selectAll().where('user_id', '=', userId).execute()
const claimsOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
const timestamp = (date: Date) => date.toISOString().replace('Z', '000+00:00')

describe('POST /verify', () => {
  it('200: a code confirms the address and signs in', async () => {
    const { email, id, code } = await signUp()
    const answer = await verify({ type: 'signup', token: code, email: email.toUpperCase() })
    expect(answer.statusCode).toBe(200)
    const at = timestamp(clock.now())
    const { identities, ...user } = answer.json().user
    expect(answer.json()).toEqual({
      access_token: expect.any(String),
      token_type: 'bearer',
      expires_in: 3600,
      expires_at: Math.floor(clock.now().getTime() / 1_000) + 3600,
      refresh_token: expect.stringMatching(/^[\w-]{32}$/),
      user: answer.json().user,
      type: 'signup',
    })
    expect(user).toEqual({
      id,
      aud: 'authenticated',
      role: 'authenticated',
      email,
      email_confirmed_at: at,
      phone: '',
      confirmation_sent_at: at,
      confirmed_at: at,
      last_sign_in_at: expect.any(String),
      app_metadata: { provider: 'email', providers: ['email'] },
      user_metadata: {},
      created_at: at,
      updated_at: expect.any(String),
      is_anonymous: false,
    })
    expect(identities).toEqual([emailIdentity(id, email, { email_verified: true })])
    expect(claimsOf(answer.json().access_token)).toEqual(claimsBody({ sub: id, email, amr: [amrEntry('otp')] }))
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(await sessionsOf(id)).toHaveLength(1)
    expect((await verify({ type: 'signup', token: code, email })).json()).toEqual(OTP_EXPIRED)
  })

  it.each([['token_hash'], ['token']])('200: accepts the token of a link as %s', async (member) => {
    const { id, token } = await signUp()
    const answer = await verify({ type: 'email', [member]: token })
    expect(statusAndBody(answer)).toEqual([
      200,
      sessionBody(confirmedBody(id, expect.any(String), { confirmation_sent_at: anyTime }), { type: 'signup' }),
    ])
    expect(statusAndBody(await verify({ type: 'email', [member]: token }))).toEqual([403, LINK_EXPIRED])
  })

  // ASVS 6.5.1
  it('200: accepts one of two parallel requests, by code and by link', async () => {
    const { email, id, code, token } = await signUp()
    const answers = await Promise.all([
      verify({ type: 'signup', token: code, email }),
      verify({ type: 'signup', token: code, email }),
      verify({ type: 'signup', token_hash: token }),
      verify({ type: 'signup', token_hash: token }),
    ])
    expect(answers.filter(({ statusCode }) => statusCode === 200)).toHaveLength(1)
    const refused = refusalsIn(answers)
    expect(refused).toHaveLength(3)
    for (const each of refused) {
      expect([
        [403, OTP_EXPIRED],
        [403, LINK_EXPIRED],
      ]).toContainEqual(each)
    }
    expect(await sessionsOf(id)).toHaveLength(1)
  })

  it('403: gives the same answer to an unknown address, a wrong code and an expired code', async () => {
    const { email, code, token } = await signUp()
    const wrong = code === '000000' ? '000001' : '000000'
    expect(statusAndBody(await verify({ type: 'signup', token: code, email: 'nobody@example.com' }))).toEqual([
      403,
      OTP_EXPIRED,
    ])
    expect(statusAndBody(await verify({ type: 'signup', token: wrong, email }))).toEqual([403, OTP_EXPIRED])
    expect(statusAndBody(await verify({ type: 'recovery', token: code, email }))).toEqual([403, OTP_EXPIRED])
    expect(statusAndBody(await verify({ type: 'invite', token: code, email }))).toEqual([403, OTP_EXPIRED])
    expect(statusAndBody(await verify({ type: 'signup', token: code, email }, { 'x-jwt-aud': 'other' }))).toEqual([
      403,
      OTP_EXPIRED,
    ])
    expect(statusAndBody(await verify({ type: 'recovery', token_hash: token }))).toEqual([403, LINK_EXPIRED])
    clock.advance(86_400_000)
    expect(statusAndBody(await verify({ type: 'signup', token: code, email }))).toEqual([403, OTP_EXPIRED])
    expect(statusAndBody(await verify({ type: 'signup', token_hash: token }))).toEqual([403, LINK_EXPIRED])
  })

  it('403: refuses the right code after ten wrong ones and still accepts the link', async () => {
    const { email, code, token, id } = await signUp()
    const guesses = Array.from({ length: 20 }, (_, index) => String(index).padStart(6, '0')).filter((g) => g !== code)
    const answers = await Promise.all(
      guesses.slice(0, 10).map((attempt) => verify({ type: 'signup', token: attempt, email })),
    )
    expect(refusalsIn(answers)).toEqual(Array(10).fill([403, OTP_EXPIRED]))
    expect((await verify({ type: 'signup', token: code, email })).json()).toEqual(OTP_EXPIRED)
    expect((await verify({ type: 'signup', token_hash: token })).json()).toEqual(
      sessionBody(confirmedBody(id, email, { confirmation_sent_at: anyTime }), { type: 'signup' }),
    )
  })

  it('403: reveals a ban only with the right code', async () => {
    const { email, id, code, token } = await signUp()
    const until = new Date(clock.now().getTime() + 1_000)
    await deps.db.updateTable('users').set({ banned_until: until }).where('id', '=', id).execute()
    const banned = { code: 403, error_code: 'user_banned', msg: 'User is banned' }
    const wrong = { type: 'signup', token: code === '000000' ? '000001' : '000000' }
    const [known, unknown] = [
      await verify({ ...wrong, email }),
      await verify({ ...wrong, email: 'nobody@example.com' }),
    ]
    expect([known.statusCode, known.json()]).toEqual([unknown.statusCode, unknown.json()])
    expect(statusAndBody(await verify({ type: 'signup', token: code, email }))).toEqual([403, banned])
    expect(statusAndBody(await verify({ type: 'signup', token_hash: token }))).toEqual([403, banned])
    clock.advance(1_000)
    expectSession(
      await verify({ type: 'signup', token: code, email }),
      confirmedBody(id, email, { confirmation_sent_at: anyTime, banned_until: anyTime }),
      { type: 'signup' },
    )
  })

  it('400: needs a password when the user of a signup has none, and keeps the code', async () => {
    const { email, id, code } = await signUp()
    await deps.db.updateTable('users').set({ encrypted_password: null }).where('id', '=', id).execute()
    expect(statusAndBody(await verify({ type: 'signup', token: code, email }))).toEqual([
      400,
      {
        code: 400,
        error_code: 'validation_failed',
        msg: 'Password is required',
      },
    ])
    const weak = await verify({ type: 'signup', token: code, email, password: 'x' })
    expect(statusAndBody(weak)).toEqual([
      422,
      errorBody(422, 'weak_password', 'Password should be at least 6 characters.', {
        weak_password: { reasons: ['length'] },
      }),
    ])
    expectSession(
      await verify({ type: 'signup', token: code, email, password: 'a good one' }),
      confirmedBody(id, email, { confirmation_sent_at: anyTime }),
      { type: 'signup' },
    )
    expect((await userOf(id)).encrypted_password).toMatch(/^\$argon2id/)
  })

  it.each(['code', 'token_hash'])('200: stores the password that comes with a %s', async (secret) => {
    const { email, id, code, token } = await signUp()
    await deps.db.updateTable('users').set({ encrypted_password: null }).where('id', '=', id).execute()
    const message = secret === 'code' ? { token: code, email } : { token_hash: token }
    const user = confirmedBody(id, email, { confirmation_sent_at: anyTime })
    expectSession(await verify({ type: 'signup', password: 'a good one', ...message }), user, { type: 'signup' })
    const signIn = await main.post('/token?grant_type=password', { email, password: 'a good one' })
    expectSession(signIn, user)
  })

  it('200: an invited user signs in with or without setting a password', async () => {
    const { email, id, code } = await signUp()
    await deps.db
      .updateTable('users')
      .set({ encrypted_password: null, invited_at: clock.now() })
      .where('id', '=', id)
      .execute()
    const answer = await verify({ type: 'invite', token: code, email })
    expect(statusAndBody(answer)).toEqual([
      200,
      sessionBody(confirmedBody(id, email, { invited_at: timestamp(clock.now()), confirmation_sent_at: anyTime }), {
        type: 'invite',
      }),
    ])
    expect((await userOf(id)).encrypted_password).toBeNull()
    const audit = await deps.db.selectFrom('audit_log_entries').select('action').where('actor_id', '=', id).execute()
    expect(audit.map(({ action }) => action)).toContain('invite_accepted')
  })

  it('200: makes a pending sign-up a user and voids every other message', async () => {
    const { id, email, token } = await signUp()
    await deps.db.updateTable('users').set({ staged_at: clock.now() }).where('id', '=', id).execute()
    await deps.db
      .insertInto('one_time_tokens')
      .values({ user_id: id, kind: 'recovery', relates_to: 'x', expires_at: clock.now() })
      .execute()
    clock.advance(5_000)
    expect((await verify({ type: 'magiclink', token_hash: token })).json()).toEqual(LINK_EXPIRED)
    expectSession(
      await verify({ type: 'email', token_hash: token }),
      confirmedBody(id, email, { confirmation_sent_at: anyTime }),
      { type: 'signup' },
    )
    const { staged_at, created_at } = await userOf(id)
    expect({ staged_at, created_at }).toEqual({ staged_at: null, created_at: timestamp(clock.now()) })
    const left = await deps.db.selectFrom('one_time_tokens').select('id').where('user_id', '=', id).execute()
    expect(left).toEqual([])
  })

  it('400: refuses a body without a token', async () => {
    const answer = await verify({ type: 'signup' })
    expect(statusAndBody(answer)).toEqual([
      400,
      {
        code: 400,
        error_code: 'validation_failed',
        msg: 'Verify requires either a token or a token hash',
      },
    ])
  })

  it('422: refuses a malformed email', async () => {
    expect(statusAndBody(await verify({ type: 'signup', token: '1', email: 'x' }))).toEqual([
      422,
      {
        code: 422,
        error_code: 'validation_failed',
        msg: 'Invalid email format',
      },
    ])
  })
})

describe('GET /verify', () => {
  // ASVS 3.4.5
  it('303: signs in and puts the session into the fragment', async () => {
    const { link, id } = await signUp()
    const answer = await follow(link.search.slice(1))
    expect(answer.statusCode).toBe(303)
    expect(answer.body).toBe('')
    expect([answer.headers['referrer-policy'], answer.headers['cache-control']]).toEqual(['no-referrer', 'no-store'])
    expect(answer.headers.location).toMatch(
      /^http:\/\/localhost:3000\/#access_token=[\w.-]+&token_type=bearer&expires_in=3600&refresh_token=[\w-]{32}&type=signup&expires_at=\d+&sb=$/,
    )
    expect((await userOf(id)).email_confirmed_at).toBe(timestamp(clock.now()))
    expect((await follow(link.search.slice(1))).headers.location).toBe(`http://localhost:3000/${LINK_EXPIRED_FRAGMENT}`)
  })

  it('303: signs in a user of another audience, since a link cannot carry X-JWT-AUD', async () => {
    const email = 'mobile@example.com'
    await main.post('/signup', { email, password }, { 'x-jwt-aud': 'mobile' })
    const { link } = await main.readMail(email)
    const { statusCode, headers } = await follow(link.search.slice(1))
    expect(statusCode).toBe(303)
    const { location = '' } = headers
    const token = new URLSearchParams(new URL(location).hash.slice(1)).get('access_token') ?? ''
    expect(claimsOf(token)).toEqual(claimsBody({ aud: 'mobile', email, amr: [amrEntry('otp')] }))
  })

  it('303: checks the redirect of the link again', async () => {
    const { token } = await signUp()
    const location = async (target: string) => {
      const answer = await follow(`token=wrong&type=signup&redirect_to=${encodeURIComponent(target)}`)
      return [answer.statusCode, answer.headers.location]
    }
    const refused = (site: string) => [303, `${site}${LINK_EXPIRED_FRAGMENT}`]
    expect(await location('http://localhost:5173/cb?x=1')).toEqual(refused('http://localhost:5173/cb?x=1'))
    expect(await location('https://evil.test')).toEqual(refused('http://localhost:3000/'))
    expect(await location('http://localhost:3000/\r\nX: y')).toEqual(refused('http://localhost:3000/'))
    const answer = await follow(`token_hash=${token}&type=signup&redirect_to=myapp://callback`)
    expect(answer.statusCode).toBe(303)
    expect(answer.headers.location).toMatch(/^myapp:\/\/callback\/?#access_token=/)
  })

  it('303: puts every other error into the redirect', async () => {
    const { id, token } = await signUp()
    const leads = async (query: string) => {
      const { statusCode, headers } = await follow(query)
      return [statusCode, headers.location]
    }
    expect(await leads(`token=${token}&type=sms`)).toEqual([
      303,
      'http://localhost:3000/#error=invalid_request&error_code=validation_failed&error_description=Invalid+email+verification+type&sb=',
    ])
    const until = new Date(clock.now().getTime() + 1_000)
    await deps.db.updateTable('users').set({ banned_until: until }).where('id', '=', id).execute()
    expect(await leads(`token=${token}&type=signup`)).toEqual([
      303,
      'http://localhost:3000/#error=access_denied&error_code=user_banned&error_description=User+is+banned&sb=',
    ])
    expect(await leads('token=pkce_wrong&type=signup')).toEqual([
      303,
      `http://localhost:3000/?error=access_denied&error_code=otp_expired&error_description=Email+link+is+invalid+or+has+expired${LINK_EXPIRED_FRAGMENT}`,
    ])
  })

  it('303: a PKCE flow ends in an auth code', async () => {
    const codeChallenge = 'c'.repeat(43)
    const { id, link, token } = await signUp({ code_challenge: codeChallenge, code_challenge_method: 's256' })
    expect(token).toMatch(/^pkce_[0-9a-f]{56}$/)
    const { statusCode, headers } = await follow(link.search.slice(1))
    expect(statusCode).toBe(303)
    const target = new URL(headers.location ?? '')
    expect(target.hash).toBe('')
    const code = target.searchParams.get('code') ?? ''
    const flow = await deps.db
      .selectFrom('flow_state')
      .select([
        'authentication_method',
        'code_challenge',
        'code_challenge_method',
        'auth_code_hash',
        'auth_code_issued_at',
      ])
      .where('user_id', '=', id)
      .executeTakeFirstOrThrow()
    expect(flow).toEqual({
      authentication_method: 'email/signup',
      code_challenge: codeChallenge,
      code_challenge_method: 's256',
      auth_code_hash: createHash('sha256').update(code).digest(),
      auth_code_issued_at: timestamp(clock.now()),
    })
    expect(await sessionsOf(id)).toEqual([])
    expect((await userOf(id)).email_confirmed_at).not.toBeNull()
  })

  it('400: answers in JSON when type or token is missing', async () => {
    expect(statusAndBody(await follow('token=x'))).toEqual([
      400,
      errorBody(400, 'validation_failed', 'Verify requires a verification type'),
    ])
    expect(statusAndBody(await follow('type=signup&token='))).toEqual([
      400,
      errorBody(400, 'validation_failed', 'Verify requires a token or a token hash'),
    ])
  })

  it('400: shows a browser a page when type or token is missing', async () => {
    const { statusCode, headers, body } = await follow('type=signup', { accept: 'text/html,*/*;q=0.8' })
    expect([statusCode, headers['content-type']]).toEqual([400, 'text/html; charset=utf-8'])
    expect(body).toContain('<h1>This link is damaged</h1>')
  })

  // ASVS 7.6.2
  it.each([
    ['sec-purpose', 'prefetch;prerender'],
    ['purpose', 'prefetch'],
    ['x-purpose', 'preview'],
    ['x-moz', 'prefetch'],
  ])('400: a prefetch uses nothing up: %s: %s', async (name, value) => {
    const { link } = await signUp()
    const ahead = await follow(link.search.slice(1), { [name]: value })
    expect(statusAndBody(ahead)).toEqual([
      400,
      {
        code: 400,
        error_code: 'validation_failed',
        msg: 'Links of mails are not to be fetched before somebody opens them',
      },
    ])
    expect(ahead.headers['cache-control']).toBe('no-store')
    expect((await follow(link.search.slice(1))).headers.location).toContain('#access_token=')
  })

  it('405: HEAD uses nothing up', async () => {
    const { id, email, link, token } = await signUp()
    const head = await app.inject({ method: 'HEAD', url: `/verify${link.search}` })
    expect([head.statusCode, head.headers.allow, head.body]).toEqual([405, 'GET, POST', ''])
    expectSession(
      await verify({ type: 'signup', token_hash: token }),
      confirmedBody(id, email, { confirmation_sent_at: anyTime }),
      { type: 'signup' },
    )
  })
})
