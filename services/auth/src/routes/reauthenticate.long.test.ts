import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { anyTime, errorBody, refusalsIn, signedUpBody, statusAndBody, userBody } from '../../test/bodies.ts'
import { type Failure, expectFailure as failWith } from '../../test/expect-failure.ts'
import { expectUser } from '../../test/expect-user.ts'
import { forgeBearer } from '../../test/forged-token.ts'
import { type MailApp, openMailApp } from '../../test/mail-app.ts'
import { createSignedIn, type SignedIn, signIn } from '../../test/signed-in.ts'
import { insertUser } from '../users/user-change-repository.ts'

let test: MailApp
beforeAll(async () => {
  test = await openMailApp({
    AUTH_SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION: 'true',
    AUTH_SECURITY_OTP_MAX_ATTEMPTS: '3',
    AUTH_EXTERNAL_PHONE_ENABLED: 'true',
    AUTH_RATE_LIMIT_EMAIL_SENT: 'off',
    AUTH_RATE_LIMIT_SMS_SENT: 'off',
    AUTH_DB_NAMESPACE: 'app',
  })
})
afterAll(() => test.close())
beforeEach(() => test.clock.advance(61_000))

type Headers = Readonly<Record<string, string>>
const DAY_MS = 86_400_000
const NEEDED = [400, 'reauthentication_needed', 'Password update requires reauthentication'] as const
const NOT_VALID = [422, 'reauthentication_not_valid', 'Nonce has expired or is invalid'] as const

const ask = (headers: Headers) => test.app.inject({ url: '/reauthenticate', headers })
const put = (payload: object, headers: Headers) => test.app.inject({ method: 'PUT', url: '/user', headers, payload })
const expectPutFailure = (payload: object, headers: Headers, failure: Failure) =>
  failWith(test, { method: 'PUT', url: '/user', headers, payload }, failure)
const expectFailure = (headers: Headers, failure: Failure) =>
  failWith(test, { method: 'GET', url: '/reauthenticate', headers }, failure)

/** Signs a user in and moves the session this many milliseconds before the tests' clock. */
async function signedInAgo(ms: number, user?: SignedIn): Promise<SignedIn> {
  const signedIn = user ? await signIn(test, user) : await createSignedIn(test)
  const created_at = new Date(test.clock.now().getTime() - ms)
  await test.deps.db.updateTable('sessions').set({ created_at }).where('id', '=', signedIn.sessionId).execute()
  return signedIn
}

async function readNonce(email: string): Promise<string> {
  const { mail } = await test.readMail(email)
  const nonce = /^(\d{6}) is your verification code$/.exec(mail.subject ?? '')?.[1] ?? ''
  expect(mail.html).toContain(`<strong>${nonce}</strong>`)
  expect(mail.html).not.toContain('href')
  return nonce
}

describe('GET /reauthenticate', () => {
  it('200: sends a nonce to the email and stores the time', async () => {
    const { headers, email, user } = await createSignedIn(test)
    const answer = await ask(headers)
    expect([answer.statusCode, answer.json()]).toEqual([200, {}])
    expect(await readNonce(email)).toMatch(/^\d{6}$/)
    const { body } = { body: (await test.app.inject({ url: '/user', headers })).json() }
    expect(Date.parse(body.reauthentication_sent_at)).toBe(test.clock.now().getTime())
    const query = test.deps.db.selectFrom('audit_log_entries').select('action').where('actor_id', '=', user.id)
    expect((await query.execute()).map(({ action }) => action)).toContain('user_reauthenticate_requested')
  })

  it('200: sends the nonce to the phone of a user without an email', async () => {
    const phone = '14155550177'
    const confirmed = { phone_confirmed_at: new Date(0), aud: 'authenticated', role: 'authenticated' }
    const { id } = await insertUser(test.deps.db, { ...confirmed, phone })
    const headers = { authorization: forgeBearer({ sub: id }) }
    expect(statusAndBody(await ask(headers))).toEqual([200, {}])
    const { code } = await test.sms.read(phone)
    await expectPutFailure({ password: 'another horse' }, headers, NEEDED)
    expectUser(
      await put({ password: 'another horse', nonce: code }, headers),
      userBody({
        id,
        phone,
        phone_confirmed_at: anyTime,
        confirmed_at: anyTime,
        reauthentication_sent_at: anyTime,
        app_metadata: {},
      }),
    )
  })

  const create = async (values: object) => {
    const { id } = await insertUser(test.deps.db, { aud: 'authenticated', role: 'authenticated', ...values })
    return { authorization: forgeBearer({ sub: id }) }
  }

  it('400: refuses a user without an address', async () => {
    await expectFailure(await create({}), [
      400,
      'validation_failed',
      'Reauthentication requires the user to have an email or a phone number',
    ])
  })

  it('422: refuses a user whose address is not confirmed', async () => {
    const email = { email: 'unverified@example.com', phone: '14155550178', phone_confirmed_at: new Date(0) }
    await expectFailure(await create(email), [422, 'email_not_confirmed', 'Please verify your email first.'])
    const phone = { phone: '14155550179' }
    await expectFailure(await create(phone), [422, 'phone_not_confirmed', 'Please verify your phone first.'])
  })

  it('401: refuses a request without an access token', async () => {
    await expectFailure({}, [401, 'no_authorization', 'This endpoint requires a valid Bearer token'])
  })

  it('429: refuses a request within the interval', async () => {
    const { headers, email } = await createSignedIn(test)
    expect(statusAndBody(await ask(headers))).toEqual([200, {}])
    await readNonce(email)
    const wait = 'For security purposes, you can only request this after 60 seconds.'
    await expectFailure(headers, [429, 'over_email_send_rate_limit', wait])
  })

  it('403: refuses a session that has ended', async () => {
    const { headers, user } = await createSignedIn(test)
    await test.deps.db.deleteFrom('sessions').where('user_id', '=', user.id).execute()
    const ended = 'Session from session_id claim in JWT does not exist'
    await expectFailure(headers, [403, 'session_not_found', ended])
  })

  it('200 and 429: does not deadlock with parallel signups of the same phone', async () => {
    const phone = '14155550176'
    const values = { phone, phone_confirmed_at: new Date(0), aud: 'authenticated', role: 'authenticated' }
    const { id } = await insertUser(test.deps.db, values)
    const headers = { authorization: forgeBearer({ sub: id }) }
    const signUp = () => test.post('/signup', { phone, password: 'correct horse' })
    for (let round = 0; round < 8; round += 1) {
      test.clock.advance(61_000)
      const answers = await Promise.all([ask(headers), signUp(), ask(headers), signUp(), ask(headers), signUp()])
      const statuses = answers.map(({ statusCode }) => statusCode)
      const asked = statuses.filter((_status, at) => at % 2 === 0)
      // Only one of the six requests may send a message. If it is a sign-up, all requests for a nonce are refused.
      expect([
        [200, 429, 429],
        [429, 429, 429],
      ]).toContainEqual(asked.sort())
      expect(statuses.filter((_status, at) => at % 2 === 1)).toEqual([200, 200, 200])
    }
  })

  it('405: refuses HEAD and sends nothing', async () => {
    const { headers } = await createSignedIn(test)
    expect(statusAndBody(await test.app.inject({ method: 'HEAD', url: '/reauthenticate', headers }))).toEqual([405, ''])
  })
})

describe('PUT /user with a password, where it needs reauthentication', () => {
  it('200: needs no nonce within a day of the sign-in', async () => {
    const fresh = await signedInAgo(DAY_MS)
    expectUser(
      await put({ password: 'another horse' }, fresh.headers),
      signedUpBody(fresh, { last_sign_in_at: anyTime }),
    )
    expectUser(
      await put({ password: 'one more horse', nonce: '000000' }, fresh.headers),
      signedUpBody(fresh, { last_sign_in_at: anyTime }),
    )
    expect(statusAndBody(await ask(fresh.headers))).toEqual([200, {}])
    const nonce = await readNonce(fresh.email)
    expectUser(
      await put({ password: 'yet another horse', nonce }, fresh.headers),
      signedUpBody(fresh, { last_sign_in_at: anyTime, reauthentication_sent_at: anyTime }),
    )
  })

  it('200: accepts the nonce once', async () => {
    const old = await signedInAgo(DAY_MS + 1)
    await expectPutFailure({ password: 'another horse' }, old.headers, NEEDED)
    expectUser(
      await put({ data: { x: 1 } }, old.headers),
      signedUpBody(old, { last_sign_in_at: anyTime, user_metadata: { name: 'Ann', x: 1 } }),
    )
    await ask(old.headers)
    const nonce = await readNonce(old.email)
    await expectPutFailure(
      { password: 'another horse', nonce: nonce === '000000' ? '1' : '000000' },
      old.headers,
      NOT_VALID,
    )
    // A refused password uses up neither the nonce nor a code attempt.
    const same = 'New password should be different from the old password.'
    await expectPutFailure({ password: old.password, nonce }, old.headers, [422, 'same_password', same])
    expectUser(
      await put({ password: 'another horse', nonce }, old.headers),
      signedUpBody(old, {
        last_sign_in_at: anyTime,
        reauthentication_sent_at: anyTime,
        user_metadata: { name: 'Ann', x: 1 },
      }),
    )
    await expectPutFailure({ password: 'one more horse', nonce }, old.headers, NOT_VALID)
  })

  it('422: refuses an expired nonce and the nonce of another user', async () => {
    const [old, other] = [await signedInAgo(DAY_MS + 1), await signedInAgo(DAY_MS + 1)]
    await ask(old.headers)
    const nonce = await readNonce(old.email)
    await expectPutFailure({ password: 'another horse', nonce }, other.headers, NOT_VALID)
    test.clock.advance(DAY_MS)
    const later = { authorization: forgeBearer({ sub: old.user.id }) }
    await expectPutFailure({ password: 'another horse', nonce }, later, NOT_VALID)
  })

  it('422: refuses the right nonce after the limit of wrong ones, also from parallel requests', async () => {
    const old = await signedInAgo(DAY_MS + 1)
    await ask(old.headers)
    const nonce = await readNonce(old.email)
    const wrong = nonce === '000000' ? '000001' : '000000'
    const guesses = Array.from({ length: 10 }, () => put({ password: 'another horse', nonce: wrong }, old.headers))
    for (const guess of await Promise.all(guesses))
      expect(statusAndBody(guess)).toEqual([
        422,
        errorBody(422, 'reauthentication_not_valid', 'Nonce has expired or is invalid'),
      ])
    await expectPutFailure({ password: 'another horse', nonce }, old.headers, NOT_VALID)
  })

  it('200 and 422: accepts one of many parallel uses of a nonce', async () => {
    const old = await signedInAgo(DAY_MS + 1)
    await ask(old.headers)
    const nonce = await readNonce(old.email)
    const sets = ['first horse', 'second horse', 'third horse'].map((password) => put({ password, nonce }, old.headers))
    const answers = await Promise.all(sets)
    expect(answers.filter(({ statusCode }) => statusCode === 200)).toHaveLength(1)
    expect(refusalsIn(answers)).toEqual(
      Array(2).fill([422, errorBody(422, 'reauthentication_not_valid', 'Nonce has expired or is invalid')]),
    )
  })
})
