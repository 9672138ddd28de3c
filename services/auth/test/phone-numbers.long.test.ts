import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { errorBody, factorBody, phoneBody, statusAndBody } from './bodies.ts'
import { expectSession, expectUser } from './expect-user.ts'
import { OPERATOR } from './forged-token.ts'
import { type MailApp, openBeside, openMailApp } from './mail-app.ts'
import { runUsers } from './run-users.ts'
import { createSignedIn } from './signed-in.ts'
import { createSignedUp } from './signed-up.ts'

const SETTINGS = {
  AUTH_EXTERNAL_PHONE_ENABLED: 'true',
  AUTH_MFA_PHONE_ENROLL_ENABLED: 'true',
  AUTH_MFA_PHONE_VERIFY_ENABLED: 'true',
  AUTH_RATE_LIMIT_SMS_SENT: 'off',
  AUTH_SMS_TEST_OTP: '4915:123456,4407499999999:123456',
}
const password = 'correct horse'
let main: MailApp
beforeAll(async () => {
  main = await openMailApp(SETTINGS)
})
afterAll(() => main.close())

let count = 0
/** Returns a UK number as it is dialled, and as people write it, with the national zero. */
function nextNumber() {
  const national = `74${String(++count).padStart(8, '0')}`
  return {
    dialled: `44${national}`,
    typed: `+44 (0) ${national.slice(0, 4)} ${national.slice(4)}`,
    old: `440${national}`,
  }
}
const MALFORMED = [400, errorBody(400, 'validation_failed', 'Invalid phone number format (E.164 required)')]
const phonesLike = async (phones: readonly string[]) => {
  const query = main.deps.db.selectFrom('users').select('phone').where('phone', 'in', phones)
  return (await query.orderBy('phone').execute()).map(({ phone }) => phone)
}
const put = (url: string, headers: Readonly<Record<string, string>>, payload: object) =>
  main.app.inject({ method: 'PUT', url, headers, payload })
/** Creates a user as stored before numbers were parsed. */
const createOld = (phone: string, members: object = {}) =>
  createSignedUp(main.deps, { phone, phone_confirmed_at: '2026-01-01T00:00:00Z', ...members })

describe('a phone number in two forms', () => {
  it('is one user who signs up in one form, verifies in the other, and signs in by both', async () => {
    const { dialled, typed } = nextNumber()
    await main.post('/signup', { phone: typed, password })
    const { code } = await main.sms.read(dialled)
    expectSession(await main.post('/verify', { type: 'sms', phone: `+${dialled}`, token: code }), phoneBody(dialled))
    for (const phone of [typed, dialled])
      expectSession(await main.post('/token?grant_type=password', { phone, password }), phoneBody(dialled))
  })

  it('has one interval between codes, at POST /otp and at POST /resend', async () => {
    const { dialled, typed } = nextNumber()
    expect((await main.post('/otp', { phone: dialled })).statusCode).toBe(200)
    const tooSoon = await main.post('/otp', { phone: typed })
    expect([tooSoon.statusCode, tooSoon.json().error_code]).toEqual([429, 'over_sms_send_rate_limit'])
    const { code } = await main.sms.read(dialled)
    await main.post('/resend', { type: 'sms', phone: typed })
    await main.idle()
    expect(main.sms.messages.filter(({ to }) => to.endsWith(dialled.slice(2)))).toHaveLength(1)
    expectSession(await main.post('/verify', { type: 'sms', phone: typed, token: code }), phoneBody(dialled))
  })

  it('makes one user of parallel requests in both forms', async () => {
    const numbers = Array.from({ length: 4 }, nextNumber)
    await Promise.all(
      numbers.flatMap(({ dialled, typed }) => [
        main.post('/signup', { phone: dialled, password }),
        main.post('/signup', { phone: typed, password }),
        main.app.inject({ method: 'POST', url: '/admin/users', headers: OPERATOR, payload: { phone: typed } }),
      ]),
    )
    const all = numbers.flatMap(({ dialled, old }) => [dialled, old])
    expect(await phonesLike(all)).toEqual(numbers.map(({ dialled }) => dialled).sort())
  })

  it('is taken in both forms, for users and for admins', async () => {
    const { dialled, typed } = nextNumber()
    const { user } = await createOld(dialled)
    const own = await createSignedIn(main)
    const exists = (text: string) => [422, errorBody(422, 'phone_exists', text)]
    expect(statusAndBody(await put('/user', own.headers, { phone: typed }))).toEqual(
      exists('A user with this phone number has already been registered'),
    )
    const made = await main.app.inject({
      method: 'POST',
      url: '/admin/users',
      headers: OPERATOR,
      payload: { phone: typed },
    })
    const changed = await put(`/admin/users/${own.user.id}`, OPERATOR, { phone: typed })
    for (const answer of [made, changed])
      expect(statusAndBody(answer)).toEqual(exists('Phone number already registered by another user'))
    const same = await put(`/admin/users/${user.id}`, OPERATOR, { phone: typed })
    expect([same.statusCode, same.json().phone, same.json().phone_confirmed_at]).toEqual([
      200,
      dialled,
      expect.anything(),
    ])
  })

  it('is one change of phone, whose code goes to the number that is dialled', async () => {
    const { dialled, typed } = nextNumber()
    const { headers } = await createSignedIn(main)
    expect((await put('/user', headers, { phone: typed })).json().new_phone).toBe(dialled)
    const { code } = await main.sms.read(dialled)
    const verified = await main.post('/verify', { type: 'phone_change', phone: typed, token: code })
    expect([verified.statusCode, verified.json().user.phone]).toEqual([200, dialled])
  })

  it('is one second factor', async () => {
    const { dialled, typed } = nextNumber()
    const { headers, user } = await createSignedIn(main)
    const enrol = (phone: string) =>
      main.post('/factors', { factor_type: 'phone', friendly_name: phone, phone }, headers)
    const first = await enrol(typed)
    expect([first.statusCode, first.json().phone]).toEqual([200, dialled])
    const second = await enrol(dialled)
    const factors = await main.app.inject({ url: `/admin/users/${user.id}/factors`, headers: OPERATOR })
    const factor = factorBody({
      ...{ id: second.json().id, status: 'unverified', factor_type: 'phone', phone: dialled, friendly_name: dialled },
      last_challenged_at: undefined,
    })
    expect(factors.json().map(({ id, phone }: { id: string; phone: string }) => ({ id, phone }))).toEqual([
      { id: factor.id, phone: dialled },
    ])
    const renamed = await put(`/admin/users/${user.id}/factors/${second.json().id}`, OPERATOR, { phone: typed })
    expect([renamed.statusCode, renamed.json().phone]).toEqual([200, dialled])
  })

  it('is one user of an import and of the commands', async () => {
    const { dialled, typed } = nextNumber()
    const lines = [{ phone: typed, phone_confirm: true }, { phone: dialled }, { phone: '4916' }]
    const input = lines.map((line) => JSON.stringify(line)).join('\n')
    expect(await runUsers(main, ['import'], input)).toEqual({
      output: '1 added, 1 there already, 1 refused\n',
      reports: ['line 3: phone: Invalid phone number format (E.164 required)'],
      failure: '1 lines were refused',
    })
    const again = await runUsers(main, ['import'], JSON.stringify({ phone: dialled }))
    expect(again.output).toBe('0 added, 1 there already, 0 refused\n')
    const shown = await Promise.all([typed, dialled].map((phone) => runUsers(main, ['show', phone])))
    expect(shown.map(({ failure, output }) => [failure, output.includes(dialled)])).toEqual(
      Array(2).fill([undefined, true]),
    )
  })
})

describe('a phone number that was stored before', () => {
  it('is found by its digits, and makes no second user', async () => {
    const { dialled, typed, old } = nextNumber()
    const { password: own } = await createOld(old)
    expect((await main.post('/token?grant_type=password', { phone: typed, password: own })).json().user.phone).toBe(old)
    await main.post('/otp', { phone: typed })
    const { code } = await main.sms.read(old)
    expect((await main.post('/verify', { type: 'sms', phone: old, token: code })).json().user.phone).toBe(old)
    const input = JSON.stringify({ phone: typed })
    expect((await runUsers(main, ['import'], input)).output).toBe('0 added, 1 there already, 0 refused\n')
    expect(await phonesLike([old, dialled])).toEqual([old])
  })

  it('is found although it is impossible', async () => {
    const { password: own } = await createOld('4917')
    expect((await main.post('/token?grant_type=password', { phone: '+49 17', password: own })).json().user.phone).toBe(
      '4917',
    )
    expect((await main.post('/otp', { phone: '4917' })).statusCode).toBe(200)
    expect((await runUsers(main, ['show', '4917'])).failure).toBeUndefined()
  })

  it('is confirmed by the code of a change that was pending', async () => {
    const { old } = nextNumber()
    const before = await openBeside(main, { ...SETTINGS, AUTH_PROFILE: 'supabase', AUTH_RATE_LIMIT_SMS_SENT: '1000' })
    const { headers } = await createSignedIn(main)
    const asked = await before.app.inject({ method: 'PUT', url: '/user', headers, payload: { phone: old } })
    expect(asked.json().new_phone).toBe(old)
    const { code } = await main.sms.read(old)
    const verified = await main.post('/verify', { type: 'phone_change', phone: old, token: code })
    expect([verified.statusCode, verified.json().user.phone]).toEqual([200, old])
    await before.close()
  })

  it('stays the number of its second factor', async () => {
    const { typed, old } = nextNumber()
    const { headers, user } = await createSignedIn(main)
    const factor = {
      user_id: user.id,
      friendly_name: 'old',
      factor_type: 'phone',
      status: 'verified',
      phone: old,
    } as const
    const times = { created_at: new Date(), updated_at: new Date() }
    await main.deps.db
      .insertInto('mfa_factors')
      .values({ id: user.id, ...factor, ...times })
      .execute()
    const answer = await main.post('/factors', { factor_type: 'phone', friendly_name: 'new', phone: typed }, headers)
    expect(statusAndBody(answer)).toEqual([
      422,
      errorBody(
        422,
        'mfa_verified_factor_exists',
        'A verified phone factor already exists, unenroll the existing factor to continue',
      ),
    ])
  })
})

describe('a phone number of no country', () => {
  it.each(['+49 16', '+33 6 12 34 56 78 9', '+999 0000 0000'])('is refused: %s', async (phone) => {
    const { headers, user } = await createSignedIn(main)
    const answers = await Promise.all([
      main.post('/signup', { phone, password }),
      main.post('/otp', { phone }),
      main.post('/resend', { type: 'sms', phone }),
      main.post('/verify', { type: 'sms', phone, token: '123456' }),
      main.post('/token?grant_type=password', { phone, password }),
      put('/user', headers, { phone }),
      main.post('/factors', { factor_type: 'phone', friendly_name: 'a', phone }, headers),
      main.app.inject({ method: 'POST', url: '/admin/users', headers: OPERATOR, payload: { phone } }),
      put(`/admin/users/${user.id}`, OPERATOR, { phone }),
    ])
    const codes = answers.map((answer) => [answer.statusCode, answer.json().error_code])
    expect(codes).toEqual(Array(answers.length).fill([400, 'validation_failed']))
    expect(answers.map(statusAndBody)).toContainEqual(MALFORMED)
  })

  it('is refused as one that is no number', async () => {
    expect(statusAndBody(await main.post('/otp', { phone: '+49 16' }))).toEqual(MALFORMED)
    expect(statusAndBody(await main.post('/otp', { phone: '0415' }))).toEqual(MALFORMED)
  })

  it('is taken as it stands where it is a test phone', async () => {
    await main.post('/signup', { phone: '+49 15', password })
    expectSession(await main.post('/verify', { type: 'sms', phone: '4915', token: '123456' }), phoneBody('4915'))
    await main.post('/signup', { phone: '+44 0 7499999999', password })
    const verified = await main.post('/verify', { type: 'sms', phone: '+44 07499 999999', token: '123456' })
    expectSession(verified, phoneBody('4407499999999'))
    expect(await phonesLike(['447499999999'])).toEqual([])
  })
})

it('takes the digits of a phone number as they are in the profile supabase', async () => {
  const { typed, old } = nextNumber()
  const open = await openBeside(main, { ...SETTINGS, AUTH_PROFILE: 'supabase', AUTH_RATE_LIMIT_SMS_SENT: '1000' })
  expect(statusAndBody(await open.post('/otp', { phone: typed }))).toEqual(MALFORMED)
  expect((await open.post('/otp', { phone: `+${old}` })).statusCode).toBe(200)
  expect((await open.post('/otp', { phone: '4916' })).statusCode).toBe(200)
  expect(await phonesLike([old, '4916'])).toEqual([old, '4916'])
  await open.close()
})

it('gives a possible number that nobody was given to its user', async () => {
  expectUser(
    await main.post('/signup', { phone: '+1 555 555 0100', password }),
    phoneBody('15555550100', { phone_confirmed_at: undefined, confirmed_at: undefined, identities: expect.any(Array) }),
  )
})
