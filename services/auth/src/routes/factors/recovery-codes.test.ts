import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addApp, claimsOf } from '../../../test/authenticator-app.ts'
import { claimsBody, proof } from '../../../test/bodies.ts'
import { type Failure, expectFailure as failWith } from '../../../test/expect-failure.ts'
import { OPERATOR } from '../../../test/forged-token.ts'
import { type MailApp, openMailApp } from '../../../test/mail-app.ts'
import { createSignedIn, signIn } from '../../../test/signed-in.ts'

let test: MailApp
beforeAll(async () => {
  test = await openMailApp({
    AUTH_DB_NAMESPACE: 'app',
    AUTH_MFA_RECOVERY_CODES_ENROLL_ENABLED: 'true',
    AUTH_MFA_RECOVERY_CODES_VERIFY_ENABLED: 'true',
    AUTH_MAILER_NOTIFICATIONS_MFA_FACTOR_ENROLLED_ENABLED: 'true',
    AUTH_MAILER_NOTIFICATIONS_MFA_FACTOR_UNENROLLED_ENABLED: 'true',
  })
})
afterAll(() => test.close())

type Headers = { readonly authorization: string }
const PATH = '/factors/recovery-codes'
const generate = (headers: Headers, payload: object = {}) => test.post(PATH, payload, headers)
const regenerate = (headers: Headers) => test.post(`${PATH}/regenerate`, {}, headers)
const verify = (headers: Headers, code?: string) => test.post(`${PATH}/verify`, { code }, headers)
const readStatus = async (headers: Headers) => (await test.app.inject({ url: PATH, headers })).json()
const remove = (headers: Headers) => test.app.inject({ method: 'DELETE', url: PATH, headers })
const expectFailure = (method: 'GET' | 'POST' | 'DELETE', url: string, headers: Headers, failure: Failure) =>
  failWith(test, { method, url, headers, ...(method === 'POST' ? { payload: {} } : {}) }, failure)

const NOT_FOUND = [404, 'mfa_factor_not_found', 'Factor not found'] as const
const WRONG = [422, 'mfa_verification_failed', 'Invalid recovery code entered'] as const
const NEEDS_AAL2 = [403, 'insufficient_aal', 'AAL2 required to enroll a new factor'] as const

/** A user with an authenticator app in a session of aal2, and another session of aal1. */
async function createWithApp() {
  const person = await createSignedIn(test)
  const raised = await addApp(test, person.headers, 'app')
  return { ...person, ...raised, later: await signIn(test, person) }
}

async function createWithCodes() {
  const person = await createWithApp()
  const { id, codes } = (await generate(person.headers)).json()
  return { ...person, id: String(id), codes: codes as readonly string[] }
}

describe('POST /factors/recovery-codes', () => {
  it('200: shows ten codes only once and sends a mail', async () => {
    const { headers, email } = await createWithApp()
    const answer = await generate(headers)
    const codes = answer.json().codes
    expect([answer.statusCode, answer.json()]).toEqual([
      200,
      { id: expect.any(String), type: 'recovery_code', friendly_name: 'Recovery codes', total: 10, codes },
    ])
    expect(codes).toHaveLength(10)
    for (const code of codes) expect(code).toMatch(/^[a-z2-9]{16}$/)
    const { id } = answer.json()
    expect(await readStatus(headers)).toEqual({ id, type: 'recovery_code', total: 10, remaining: 10 })
    const { factors } = (await test.app.inject({ url: '/user', headers })).json()
    expect(factors).toContainEqual(expect.objectContaining({ id, factor_type: 'recovery_code', status: 'verified' }))
    // The mail about the app may arrive before or after.
    const texts = [await test.readMail(email), await test.readMail(email)].map(({ mail }) => mail.text)
    expect(texts).toContainEqual(expect.stringContaining('(recovery_code)'))
  })

  it('200: stores the given name, and a default name when there is no body', async () => {
    const { headers } = await createWithApp()
    expect((await generate(headers, { friendly_name: 'Safe' })).json().friendly_name).toBe('Safe')
    const { headers: other } = await createWithApp()
    const answer = await test.app.inject({ method: 'POST', url: PATH, headers: other })
    expect(answer.json().friendly_name).toBe('Recovery codes')
  })

  it('403 and 422: refuses codes without another factor, in a session of aal1, a second set and a taken name', async () => {
    const { headers: nobody } = await createSignedIn(test)
    const alone = 'Recovery codes need another verified factor beside them'
    await expectFailure('POST', PATH, nobody, [422, 'mfa_recovery_codes_sole_factor', alone])
    const { headers, later } = await createWithApp()
    await expectFailure('POST', PATH, later.headers, NEEDS_AAL2)
    const payload = { friendly_name: 'app' }
    const taken = 'A factor with the friendly name "app" for this user already exists'
    await failWith(test, { method: 'POST', url: PATH, headers, payload }, [422, 'mfa_factor_name_conflict', taken])
    const answers = await Promise.all(Array.from({ length: 5 }, () => generate(headers)))
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, 422, 422, 422, 422])
    const exist = 'Recovery codes already exist, regenerate them instead'
    await expectFailure('POST', PATH, headers, [422, 'mfa_verified_factor_exists', exist])
  })
})

describe('POST /factors/recovery-codes/verify', () => {
  // ASVS 6.4.4, 6.5.1
  it('200: raises the session to aal2 once per code, in any case and spacing', async () => {
    const person = await createWithCodes()
    const { later, codes } = person
    const [first = '', second = ''] = codes
    const typed = ` ${first.toUpperCase().replaceAll(/(.{4})(?=.)/g, '$1-')}\n`
    const answer = await verify(later.headers, typed)
    expect(answer.statusCode).toBe(200)
    const claims = claimsOf(answer.json().access_token)
    expect(claims).toEqual(
      claimsBody({
        sub: person.user.id,
        email: person.email,
        user_metadata: { name: 'Ann' },
        aal: 'aal2',
        amr: [proof('mfa/recovery_code'), proof('password')],
        session_id: later.sessionId,
      }),
    )
    expect(claims.amr).toEqual([proof('mfa/recovery_code'), proof('password')])
    expect(await readStatus(person.headers)).toEqual({ id: person.id, type: 'recovery_code', total: 10, remaining: 9 })
    expect((await verify(later.headers, first)).json()).toEqual({ code: 422, error_code: WRONG[1], msg: WRONG[2] })
    expect((await verify(later.headers, second)).statusCode).toBe(200)
  })

  it('200 and 422: accepts one of many parallel uses of a code', async () => {
    const { later, codes } = await createWithCodes()
    const answers = await Promise.all(Array.from({ length: 20 }, () => verify(later.headers, codes[0])))
    expect(answers.filter(({ statusCode }) => statusCode === 200)).toHaveLength(1)
    expect(answers.filter(({ statusCode }) => statusCode >= 500)).toEqual([])
  })

  // ASVS 6.6.3
  it('429: refuses every code after five guesses in 15 minutes, also parallel guesses and the right code', async () => {
    const { later, codes, headers } = await createWithCodes()
    const answers = await Promise.all(Array.from({ length: 12 }, () => verify(later.headers, 'a'.repeat(16))))
    expect(answers.map((answer) => answer.json().error_code).sort()).toEqual([
      ...Array(5).fill('mfa_recovery_codes_locked').concat(Array(2).fill('mfa_recovery_codes_locked')),
      ...Array(5).fill('mfa_verification_failed'),
    ])
    const locked = await verify(later.headers, codes[0])
    expect([locked.statusCode, locked.json().error_code]).toEqual([429, 'mfa_recovery_codes_locked'])
    expect(locked.headers['retry-after']).toBe('900')
    test.clock.advance(899_999)
    expect((await verify(later.headers, codes[0])).headers['retry-after']).toBe('1')
    test.clock.advance(1)
    expect((await verify(later.headers, codes[0])).statusCode).toBe(200)
    // The right code has reset the limit, so five guesses are left again.
    for (let guess = 0; guess < 4; guess += 1) expect((await verify(headers, 'x')).statusCode).toBe(422)
    expect((await verify(headers, codes[1])).statusCode).toBe(200)
  })

  it('404 and 422: refuses a user without codes and a malformed code', async () => {
    const { headers } = await createSignedIn(test)
    await expectFailure('POST', `${PATH}/verify`, headers, NOT_FOUND)
    const { later } = await createWithCodes()
    await expectFailure('POST', `${PATH}/verify`, later.headers, WRONG)
  })
})

describe('POST /factors/recovery-codes/regenerate', () => {
  it('200: replaces the codes, keeps id and name, and lifts the limit of guesses', async () => {
    const { headers, later, id, codes } = await createWithCodes()
    for (let guess = 0; guess < 6; guess += 1) await verify(later.headers, 'wrong')
    await expectFailure('POST', `${PATH}/regenerate`, later.headers, NEEDS_AAL2)
    const answer = (await regenerate(headers)).json()
    expect(answer).toEqual({
      id,
      type: 'recovery_code',
      friendly_name: 'Recovery codes',
      total: 10,
      codes: [
        expect.any(String),
        expect.any(String),
        expect.any(String),
        expect.any(String),
        expect.any(String),
        expect.any(String),
        expect.any(String),
        expect.any(String),
        expect.any(String),
        expect.any(String),
      ],
    })
    expect((await verify(later.headers, codes[0])).statusCode).toBe(422)
    expect((await verify(later.headers, answer.codes[0])).statusCode).toBe(200)
  })

  it('404: refuses a user without recovery codes', async () => {
    const { headers } = await createWithApp()
    await expectFailure('POST', `${PATH}/regenerate`, headers, NOT_FOUND)
  })
})

describe('DELETE /factors/recovery-codes', () => {
  it('200: deletes the codes in a session of aal2 and lowers the sessions that they raised to aal1', async () => {
    const { headers, later, id, codes } = await createWithCodes()
    const needed = [422, 'insufficient_aal', 'AAL2 required to unenroll verified factor'] as const
    await expectFailure('DELETE', PATH, later.headers, needed)
    const { refresh_token } = (await verify(later.headers, codes[0])).json()
    const removed = await remove(headers)
    expect([removed.statusCode, removed.json()]).toEqual([200, { id }])
    const refreshed = await test.post('/token?grant_type=refresh_token', { refresh_token })
    expect(claimsOf(refreshed.json().access_token)).toEqual(
      claimsBody({
        sub: later.user.id,
        email: later.email,
        user_metadata: { name: 'Ann' },
        amr: [proof('password')],
        session_id: later.sessionId,
      }),
    )
    await expectFailure('DELETE', PATH, headers, NOT_FOUND)
    await expectFailure('GET', PATH, headers, NOT_FOUND)
  })

  it('404: refuses recovery codes at the paths of other factors', async () => {
    const { headers, id } = await createWithCodes()
    await expectFailure('DELETE', `/factors/${id}`, headers, NOT_FOUND)
    await expectFailure('POST', `/factors/${id}/challenge`, headers, NOT_FOUND)
  })
})

describe('the last other factor', () => {
  it.each(['its owner', 'an admin'] as const)('200: deletes the recovery codes too when %s deletes it', async (who) => {
    const { user, headers, app } = await createWithCodes()
    const path = who === 'an admin' ? `/admin/users/${user.id}/factors` : '/factors'
    const request = { url: `${path}/${app.factorId}`, headers: who === 'an admin' ? OPERATOR : headers }
    expect((await test.app.inject({ method: 'DELETE', ...request })).statusCode).toBe(200)
    expect((await test.app.inject({ url: '/user', headers })).json().factors).toBeUndefined()
  })
})
