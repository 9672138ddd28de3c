import { randomUUID } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import {
  amrEntry,
  anyId,
  anyTime,
  claimsBody,
  confirmedBody,
  emailIdentity,
  errorBody,
  expectBody,
  sessionBody,
  statusAndBody,
  unconfirmedBody,
  userBody,
} from '../../test/bodies.ts'
import { expectUser } from '../../test/expect-user.ts'
import { openBeside, openMailApp } from '../../test/mail-app.ts'
import { createSignedUp } from '../../test/signed-up.ts'

const main = await openMailApp({ AUTH_SMS_PROVIDER: '', AUTH_JWT_ALLOWED_AUDIENCES: 'other' })
const { clock, deps } = main
const UUID = expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
const password = 'correct horse'

afterAll(() => main.close())

const timestamp = (date: Date) => date.toISOString().replace('Z', '000+00:00')

function unconfirmed(email: string, data = {}) {
  const at = timestamp(clock.now())
  return {
    id: UUID,
    aud: 'authenticated',
    role: 'authenticated',
    email,
    phone: '',
    confirmation_sent_at: at,
    app_metadata: { provider: 'email', providers: ['email'] },
    user_metadata: data,
    identities: [
      {
        identity_id: UUID,
        id: UUID,
        user_id: UUID,
        identity_data: { ...data, sub: UUID, email, email_verified: false, phone_verified: false },
        provider: 'email',
        created_at: at,
        updated_at: at,
        email,
      },
    ],
    created_at: at,
    updated_at: at,
    is_anonymous: false,
  }
}

const auditOf = async (email: string) => {
  const rows = await deps.db.selectFrom('audit_log_entries').select(['action', 'payload']).orderBy('id').execute()
  return rows.filter(({ payload }) => payload.actor_username === email).map(({ action }) => action)
}
const rowsOf = (email: string) => deps.db.selectFrom('users').selectAll().where('email', '=', email).execute()

describe('POST /signup', () => {
  it('200: stores the user and sends a mail with a link and a code', async () => {
    const data = { zeta: 1, name: 'Ada', nested: { b: [1, { y: 0, x: null }], a: 'ü' } }
    const answer = await main.post('/signup', { email: 'Ada@Example.com', password, data })
    expect(answer.statusCode).toBe(200)
    expect(answer.json()).toEqual(unconfirmed('ada@example.com', data))
    expect([answer.headers['cache-control'], answer.headers.pragma]).toEqual(['no-store', 'no-cache'])
    const { mail, link, token, code } = await main.readMail('ada@example.com')
    expect(mail.subject).toBe('Confirm your email address')
    expect(mail.from).toEqual({ address: 'admin@example.com', name: 'Trestle' })
    expect(token).toMatch(/^[0-9a-f]{56}$/)
    expect(code).toMatch(/^[0-9]{6}$/)
    expect(link.href).toBe(`http://localhost:8081/verify?token=${token}&type=signup&redirect_to=http://localhost:3000`)
    expect(mail.text).toContain(link.href)
    const [user] = await rowsOf('ada@example.com')
    expect(user?.encrypted_password).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect(await auditOf('ada@example.com')).toEqual(['user_confirmation_requested'])
  })

  it('200: gives a duplicate the answer of a new signup, byte for byte except ids', async () => {
    const body = { email: 'twin@example.com', password, data: { zeta: 1, a: { y: 1, x: [1] }, '2': 0, ä: 1, b: 'x' } }
    const shape = (text: string) => text.replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'id')
    const fresh = await main.post('/signup', body)
    const pending = await main.post('/signup', body)
    await deps.db
      .updateTable('users')
      .set({ email_confirmed_at: clock.now() })
      .where('email', '=', 'twin@example.com')
      .execute()
    const confirmed = await main.post('/signup', body)
    expect([fresh, pending, confirmed].map(({ statusCode }) => statusCode)).toEqual([200, 200, 200])
    expect(shape(pending.body)).toBe(shape(fresh.body))
    expect(shape(confirmed.body)).toBe(shape(fresh.body))
    const header = (answer: typeof fresh) => Object.keys(answer.headers).sort()
    expect(header(pending)).toEqual(header(fresh))
    const ids = [fresh, pending, confirmed].map((answer) => answer.json().id)
    expect(new Set(ids).size).toBe(3)
    expect(await auditOf('twin@example.com')).toEqual([
      'user_confirmation_requested',
      'user_repeated_signup',
      'user_repeated_signup',
    ])
  })

  it('200: sends the confirmation again after the interval and changes nothing else', async () => {
    const first = await main.post('/signup', { email: 'again@example.com', password, data: { a: 1 } })
    expectUser(
      first,
      unconfirmedBody('again@example.com', {
        user_metadata: { a: 1 },
        identities: [emailIdentity(anyId, 'again@example.com', { a: 1 })],
      }),
    )
    const [before] = await rowsOf('again@example.com')
    const old = await main.readMail('again@example.com')
    clock.advance(899_000)
    await main.post('/signup', { email: 'again@example.com', password: 'another one', data: { b: 2 } })
    clock.advance(1_000)
    await main.post('/signup', { email: 'again@example.com', password: 'another one', data: { b: 2 } })
    const renewed = await main.readMail('again@example.com')
    expect(renewed.token).not.toBe(old.token)
    const [after] = await rowsOf('again@example.com')
    expect(after).toEqual({ ...before, confirmation_sent_at: timestamp(clock.now()) })
    expect(main.recipients().filter((to) => to === 'again@example.com')).toHaveLength(2)
  })

  it('200: parallel signups of one address create one user', async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => main.post('/signup', { email: 'race@example.com', password })),
    )
    expect(answers.map(({ statusCode }) => statusCode)).toEqual(Array(8).fill(200))
    for (const answer of answers) expect(answer.json()).toEqual(unconfirmed('race@example.com'))
    const rows = await rowsOf('race@example.com')
    expect(rows).toHaveLength(1)
    expect(answers.filter((answer) => answer.json().id === rows[0]?.id)).toHaveLength(1)
    expect((await auditOf('race@example.com')).sort()).toEqual([
      'user_confirmation_requested',
      ...Array(7).fill('user_repeated_signup'),
    ])
  })

  it('200: a signup replaces a pending sign-up', async () => {
    const pending = await deps.db
      .insertInto('users')
      .values({
        id: randomUUID(),
        aud: 'authenticated',
        role: 'authenticated',
        email: 'staged@example.com',
        staged_at: clock.now(),
      })
      .returning('id')
      .executeTakeFirstOrThrow()
    const answer = await main.post('/signup', { email: 'staged@example.com', password })
    expect(statusAndBody(answer)).toEqual([200, unconfirmed('staged@example.com')])
    const rows = await rowsOf('staged@example.com')
    expect(rows.map(({ staged_at }) => staged_at)).toEqual([null])
    expect(rows[0]?.id).not.toBe(pending.id)
  })

  it('200: takes a permitted redirect from the header, the query or the Referer', async () => {
    const signUp = async (email: string, url: string, headers = {}) => {
      expectUser(await main.post(url, { email, password }, headers), unconfirmed(email))
      return (await main.readMail(email)).link.searchParams.get('redirect_to')
    }
    const header = { redirect_to: 'http://localhost:5173/h', referer: 'http://localhost:5173/r' }
    expect(await signUp('r1@example.com', '/signup?redirect_to=http://localhost:5173/q', header)).toBe(
      'http://localhost:5173/h',
    )
    const referer = { referer: 'http://localhost:5173/r' }
    expect(await signUp('r2@example.com', '/signup?redirect_to=http://localhost:5173/q', referer)).toBe(
      'http://localhost:5173/q',
    )
    expect(await signUp('r3@example.com', '/signup?redirect_to=https://evil.test', referer)).toBe(
      'http://localhost:5173/r',
    )
    expect(await signUp('r4@example.com', '/signup?redirect_to=https://evil.test')).toBe('http://localhost:3000')
  })

  it('200: treats null members as absent and stores the audience of the request', async () => {
    const body = { email: 'nulls@example.com', phone: null, password, data: null, code_challenge: null, channel: null }
    const answer = await main.post('/signup', body, { 'x-jwt-aud': 'other' })
    expect(statusAndBody(answer)).toEqual([200, { ...unconfirmed('nulls@example.com'), aud: 'other' }])
  })

  it('400: refuses an audience that is too long', async () => {
    const headers = { 'x-jwt-aud': 'x'.repeat(256) }
    const answer = await main.post('/signup', { email: 'long@example.com', password }, headers)
    const text = 'An audience may not be longer than 255 characters'
    expect(statusAndBody(answer)).toEqual([400, errorBody(400, 'validation_failed', text)])
  })

  const weak = 'Password should be at least 6 characters.'
  const tooLong = 'Password cannot be longer than 72 characters'
  const notBoth = 'Only an email address or phone number should be provided on signup.'
  const noChannel =
    "Invalid channel, supported values are 'sms' or 'whatsapp'. 'whatsapp' is only supported if Twilio or Twilio Verify is used as the provider."
  const invalidEmail = 'Unable to validate email address: invalid format'
  const phone = '+14155550100'
  const codeChallenge = 'a'.repeat(43)
  // ASVS 2.2.1, 2.2.2, 2.2.3
  it.each([
    [400, { email: 'x@example.com' }, 'validation_failed', 'Signup requires a valid password'],
    [400, { email: 'x@example.com', password: '' }, 'validation_failed', 'Signup requires a valid password'],
    [400, { email: 'x@example.com', password: 'ä'.repeat(37) }, 'validation_failed', tooLong],
    [400, { email: 'x@example.com', phone, password }, 'validation_failed', notBoth],
    [422, { email: 'x@example.com', phone, password: 'short' }, 'weak_password', weak],
    [400, { phone, password, channel: 'pigeon' }, 'validation_failed', noChannel],
    [400, { phone, password, channel: 'whatsapp' }, 'validation_failed', noChannel],
    [
      400,
      { phone, password, code_challenge: codeChallenge, code_challenge_method: 's256' },
      'validation_failed',
      'PKCE not supported for phone signups',
    ],
    [
      400,
      { email: 'x@example.com', password, code_challenge: codeChallenge },
      'validation_failed',
      'PKCE flow requires code_challenge_method and code_challenge',
    ],
    [400, { phone, password }, 'phone_provider_disabled', 'Phone signups are disabled'],
    [400, { email: 'nobody', password }, 'validation_failed', invalidEmail],
    [400, { email: ' x@example.com', password }, 'validation_failed', invalidEmail],
    [400, { email: `${'x'.repeat(256)}@example.com`, password }, 'validation_failed', 'An email address is too long'],
    [422, {}, 'anonymous_provider_disabled', 'Anonymous sign-ins are disabled'],
    [422, { data: { a: 1 }, password }, 'anonymous_provider_disabled', 'Anonymous sign-ins are disabled'],
    [
      400,
      { email: 'x@example.com', password, data: { a: Array(30).fill(1e308) } },
      'validation_failed',
      'user_metadata and app_metadata together may not be larger than 8192 bytes, because access tokens hold them',
    ],
    [
      400,
      { email: 'x@example.com', password, data: { a: 'x'.repeat(65_536) } },
      'validation_failed',
      'user_metadata and app_metadata together may not be larger than 8192 bytes, because access tokens hold them',
    ],
  ])('%d: refuses %j', async (status, body, code, msg) => {
    const answer = await main.post('/signup', body)
    expect(answer.statusCode).toBe(status)
    const reasons = code === 'weak_password' ? { weak_password: { reasons: ['length'] } } : {}
    expect(answer.json()).toEqual(errorBody(status, code, msg, reasons))
    expect(await rowsOf('x@example.com')).toEqual([])
  })

  // ASVS 2.2.2, 15.3.5
  it('400: refuses a member of the wrong type', async () => {
    const answer = await main.post('/signup', { email: 1, password })
    expect(statusAndBody(answer)).toEqual([
      400,
      errorBody(400, 'bad_json', 'Could not parse request body as JSON: email: must be a string'),
    ])
  })
})

describe('POST /signup with MAILER_AUTOCONFIRM', () => {
  it('200: returns a session and a user in one body', async () => {
    const open = await openMailApp({ AUTH_MAILER_AUTOCONFIRM: 'true' })
    const at = timestamp(open.clock.now())
    const answer = await open.post('/signup', { email: 'now@example.com', password })
    const body = expectBody(200, answer)
    const user = {
      ...unconfirmed('now@example.com'),
      email_confirmed_at: at,
      confirmed_at: at,
      last_sign_in_at: expect.any(String),
      created_at: at,
      updated_at: expect.any(String),
      confirmation_sent_at: undefined,
      identities: [
        {
          ...unconfirmed('now@example.com').identities[0],
          identity_data: { sub: UUID, email: 'now@example.com', email_verified: true, phone_verified: false },
          last_sign_in_at: body.identities[0].last_sign_in_at,
          created_at: at,
          updated_at: expect.any(String),
        },
      ],
    }
    const seconds = Math.floor(open.clock.now().getTime() / 1_000)
    expect(body).toEqual({
      access_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
      token_type: 'bearer',
      expires_in: 3600,
      expires_at: seconds + 3600,
      refresh_token: expect.stringMatching(/^[\w-]{32}$/),
      user,
      ...user,
    })
    const claims = JSON.parse(Buffer.from(body.access_token.split('.')[1], 'base64url').toString())
    expect(claims).toEqual(claimsBody({ sub: body.id, email: user.email, amr: [amrEntry('password')] }))
    expect(open.recipients()).toEqual([])
    await open.close()
  })

  it('400: refuses a duplicate, whose email may be in other case', async () => {
    const open = await openMailApp({ AUTH_MAILER_AUTOCONFIRM: 'true' })
    await open.post('/signup', { email: 'now@example.com', password })
    const repeated = await open.post('/signup', { email: 'NOW@example.com', password })
    expect(statusAndBody(repeated)).toEqual([400, errorBody(400, 'user_already_exists', 'User already registered')])
    const audit = await open.deps.db.selectFrom('audit_log_entries').select('action').orderBy('id').execute()
    expect(audit.map(({ action }) => action)).toEqual(['user_signedup', 'user_repeated_signup'])
    expect(open.recipients()).toEqual([])
    await open.close()
  })

  it('200: sends no mail, so the limit of mails does not apply', async () => {
    const open = await openBeside(main, { AUTH_MAILER_AUTOCONFIRM: 'true', AUTH_RATE_LIMIT_EMAIL_SENT: '1' })
    for (const name of ['a', 'b', 'c']) {
      const email = `${name}@example.com`
      const user = { ...confirmedBody(anyId, email), last_sign_in_at: anyTime }
      const answer = await open.post('/signup', { email, password })
      expect(statusAndBody(answer)).toEqual([200, { ...sessionBody(user), ...user }])
    }
    // None of these sign-ups has counted against the limit of mails.
    expect(statusAndBody(await open.post('/recover', { email: 'a@example.com' }))).toEqual([200, {}])
    await open.close()
  })
})

describe('POST /signup under settings', () => {
  it('200: signs up anonymous users until their rate limit is reached', async () => {
    const open = await openBeside(main, {
      AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
      AUTH_RATE_LIMIT_ANONYMOUS_USERS: '1',
      AUTH_RATE_LIMIT_HEADER: 'X-Real-Ip',
    })
    const from = (ip: string) => ({ 'x-real-ip': ip })
    const answer = await open.post('/signup', { data: { a: 1 } }, from('1.1.1.1'))
    const user = userBody({ app_metadata: {}, user_metadata: { a: 1 }, is_anonymous: true })
    expect(answer.json()).toEqual({ ...sessionBody(user), ...user, last_sign_in_at: anyTime })
    const claims = JSON.parse(Buffer.from(answer.json().access_token.split('.')[1], 'base64url').toString())
    expect(claims).toEqual(
      claimsBody({ app_metadata: {}, user_metadata: { a: 1 }, amr: [amrEntry('anonymous')], is_anonymous: true }),
    )
    const second = await open.post('/signup', {}, from('1.1.1.1'))
    expect(second.json()).toEqual(errorBody(429, 'over_request_rate_limit', 'Request rate limit reached'))
    expect(Number(second.headers['retry-after'])).toBeGreaterThan(3_500)
    const other = { ...user, user_metadata: {} }
    expect(statusAndBody(await open.post('/signup', {}, from('2.2.2.2')))).toEqual([
      200,
      { ...sessionBody(other), ...other, last_sign_in_at: anyTime },
    ])
    await open.close()
  })

  it('422: refuses every signup while signups are disabled', async () => {
    const open = await openBeside(main, { AUTH_DISABLE_SIGNUP: 'true', AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true' })
    const disabled = errorBody(422, 'signup_disabled', 'Signups not allowed for this instance')
    expect(statusAndBody(await open.post('/signup', { email: 'x@example.com', password }))).toEqual([422, disabled])
    expect(statusAndBody(await open.post('/signup', {}))).toEqual([422, disabled])
    await open.close()
  })

  it('400: refuses an email while signups by email are off', async () => {
    const open = await openBeside(main, { AUTH_EXTERNAL_EMAIL_ENABLED: 'false' })
    expect(statusAndBody(await open.post('/signup', { email: 'x@example.com', password }))).toEqual([
      400,
      errorBody(400, 'email_provider_disabled', 'Email signups are disabled'),
    ])
    await open.close()
  })

  it('429: stores nothing when no mail is left, and gives a duplicate the same answer', async () => {
    const open = await openMailApp({ AUTH_RATE_LIMIT_EMAIL_SENT: '1' })
    const exhausted = errorBody(429, 'over_email_send_rate_limit', 'email rate limit exceeded')
    expectUser(await open.post('/signup', { email: 'a@example.com', password }), unconfirmedBody('a@example.com'))
    const fresh = await open.post('/signup', { email: 'b@example.com', password })
    expect(statusAndBody(fresh)).toEqual([429, exhausted])
    expect(Number(fresh.headers['retry-after'])).toBeGreaterThan(0)
    expect(statusAndBody(await open.post('/signup', { email: 'a@example.com', password }))).toEqual([429, exhausted])
    const { rows } = { rows: await open.deps.db.selectFrom('users').select('email').execute() }
    expect(rows).toEqual([{ email: 'a@example.com' }])
    await open.close()
  })

  it('429: the remaining mails do not reveal whether a signup is a duplicate', async () => {
    const open = await openBeside(main, { AUTH_RATE_LIMIT_EMAIL_SENT: '4', AUTH_TRUSTED_PROXIES: '1' })
    const signUp = (wanted: string) =>
      open.post('/signup', { email: wanted, password }, { 'x-forwarded-for': '203.0.113.1' })
    const { email } = await createSignedUp(open.deps)
    for (const address of [email, 'fresh@example.com']) {
      const identities = [emailIdentity(anyId, address)]
      const user = userBody({ email: address, confirmation_sent_at: anyTime, identities })
      expect(statusAndBody(await signUp(address))).toEqual([200, user])
    }
    expect(statusAndBody(await signUp('next@example.com'))).toEqual([
      429,
      errorBody(429, 'over_email_send_rate_limit', 'email rate limit exceeded'),
    ])
    await open.close()
  })
})
