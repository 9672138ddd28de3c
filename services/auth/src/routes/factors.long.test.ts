import { randomUUID } from 'node:crypto'
import { encode } from 'uqr'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addApp, answerChallenge, challenge, enrolApp } from '../../test/authenticator-app.ts'
import { answersByStatus, anyId, errorBody, expectBody, factorBody, statusAndBody } from '../../test/bodies.ts'
import { type Failure, expectFailure as failWith } from '../../test/expect-failure.ts'
import { factorRow } from '../../test/factor-row.ts'
import { forgeBearer } from '../../test/forged-token.ts'
import { type MailApp, openMailApp } from '../../test/mail-app.ts'
import { createSignedIn, signIn } from '../../test/signed-in.ts'
import { insertUser } from '../users/user-change-repository.ts'

let test: MailApp
beforeAll(async () => {
  test = await openMailApp({
    AUTH_DB_NAMESPACE: 'app',
    AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
    AUTH_MFA_PHONE_ENROLL_ENABLED: 'true',
    AUTH_MFA_PHONE_VERIFY_ENABLED: 'true',
    AUTH_MFA_MAX_ENROLLED_FACTORS: '3',
    AUTH_MFA_MAX_VERIFIED_FACTORS: '2',
    AUTH_MAILER_NOTIFICATIONS_MFA_FACTOR_UNENROLLED_ENABLED: 'true',
  })
})
afterAll(() => test.close())

type Headers = { readonly authorization: string }
const enrol = (payload: object, headers: Headers) => test.post('/factors', payload, headers)
const expectEnrolFailure = (payload: object, headers: Headers | Record<string, string>, failure: Failure) =>
  failWith(test, { method: 'POST', url: '/factors', headers, payload }, failure)
const unenrol = (id: string, headers: Headers) => test.app.inject({ method: 'DELETE', url: `/factors/${id}`, headers })
const expectUnenrolFailure = (id: string, headers: Headers, failure: Failure) =>
  failWith(test, { method: 'DELETE', url: `/factors/${id}`, headers }, failure)
const factorsOf = async (headers: Headers): Promise<readonly { id: string; status: string }[]> =>
  (await test.app.inject({ url: '/user', headers })).json().factors ?? []
const actionsOf = async (userId: string) => {
  const query = test.deps.db.selectFrom('audit_log_entries').select('payload').where('actor_id', '=', userId)
  return (await query.orderBy('id').execute()).map(({ payload }) => payload.action)
}

const NOT_FOUND = [404, 'mfa_factor_not_found', 'Factor not found'] as const
const TOO_MANY = [
  422,
  'too_many_enrolled_mfa_factors',
  'Maximum number of verified factors reached, unenroll to continue',
] as const
const NEEDS_AAL2 = [403, 'insufficient_aal', 'AAL2 required to enroll a new factor'] as const

describe('POST /factors', () => {
  it('200: enrols an authenticator app and returns its secret, URI and QR code', async () => {
    const { headers, email, user } = await createSignedIn(test)
    const answer = await enrol({ factor_type: 'totp', friendly_name: 'my app', issuer: 'Shop & Co' }, headers)
    const secret: string = answer.json().totp.secret
    expect(secret).toMatch(/^[A-Z2-7]{32}$/)
    const uri = `otpauth://totp/Shop%20%26%20Co:${encodeURIComponent(email)}?algorithm=SHA1&digits=6&issuer=Shop%20%26%20Co&period=30&secret=${secret}`
    const qr_code = expect.stringMatching(/^<svg [^>]*>[^#]*<\/svg>$/)
    const id = expect.stringMatching(/^[0-9a-f-]{36}$/)
    const view = { id, type: 'totp', friendly_name: 'my app', totp: { qr_code, secret, uri } }
    expect([answer.statusCode, answer.json()]).toEqual([200, view])
    expect(Object.keys(answer.json())).toEqual(['id', 'type', 'friendly_name', 'totp'])
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(await actionsOf(user.id)).toEqual(['login', 'factor_in_progress'])
    // An unverified factor is listed, but does not step up a session.
    expect(await factorsOf(headers)).toEqual([
      factorBody({ id: answer.json().id, status: 'unverified', friendly_name: 'my app' }),
    ])
  })

  it('200: draws the URI as a QR code', async () => {
    const { headers } = await createSignedIn(test)
    const { qr_code, uri } = expectBody(200, await enrol({ factor_type: 'totp' }, headers)).totp
    const { data, size } = encode(uri, { ecc: 'L', boostEcc: true, border: 4 })
    const dark = data.flat().filter(Boolean).length
    expect(qr_code).toContain(`viewBox="0 0 ${size * 5} ${size * 5}"`)
    expect(qr_code.match(/M\d+,\d+h5v5h-5z/g)).toHaveLength(dark)
    expect(uri).toContain('&issuer=localhost&')
  })

  it('200: enrols a phone and replaces an unverified one with the same number', async () => {
    const { headers } = await createSignedIn(test)
    const answer = await enrol({ factor_type: 'phone', phone: '+1 415 555 0100' }, headers)
    const id = expect.any(String)
    expect(statusAndBody(answer)).toEqual([200, { id, type: 'phone', friendly_name: '', phone: '14155550100' }])
    // A second enrolment replaces an unverified factor.
    const again = await enrol({ factor_type: 'phone', phone: '14155550100' }, headers)
    expect(statusAndBody(again)).toEqual([200, { ...answer.json(), id }])
    expect(await factorsOf(headers)).toEqual([
      factorBody({ id: again.json().id, status: 'unverified', factor_type: 'phone', phone: '14155550100' }),
    ])
  })

  it('200: puts the phone number of a user without an email into the URI', async () => {
    const phone = '14155550111'
    const values = { aud: 'authenticated', role: 'authenticated', phone, phone_confirmed_at: new Date(0) }
    const user = await insertUser(test.deps.db, values)
    const query = test.deps.db.insertInto('sessions').values({ id: randomUUID(), user_id: user.id }).returning('id')
    const { id } = await query.executeTakeFirstOrThrow()
    const headers = { authorization: forgeBearer({ sub: user.id, session_id: id }) }
    const { totp } = expectBody(200, await enrol({ factor_type: 'totp' }, headers))
    expect(totp.uri).toContain(`:${phone}?`)
  })

  it('400: refuses an unknown type, a phone without a valid number and texts that are too long', async () => {
    const { headers, user } = await createSignedIn(test)
    const bad = (text: string): Failure => [400, 'validation_failed', text]
    for (const type of [undefined, '', 'sms', 'recovery_code']) {
      await expectEnrolFailure({ factor_type: type }, headers, bad('factor_type needs to be totp, phone, or webauthn'))
    }
    await expectEnrolFailure({ factor_type: 'phone' }, headers, bad('Phone number required to enroll Phone factor'))
    await expectEnrolFailure(
      { factor_type: 'phone', phone: 'x' },
      headers,
      bad('Invalid phone number format (E.164 required)'),
    )
    const name = 'friendly_name may not be longer than 120 characters'
    await expectEnrolFailure({ factor_type: 'totp', friendly_name: 'x'.repeat(121) }, headers, bad(name))
    const issuer = 'issuer may not be longer than 64 characters'
    await expectEnrolFailure({ factor_type: 'totp', issuer: 'x'.repeat(65) }, headers, bad(issuer))
    // The longest issuer and the longest email still fit into the QR code.
    const email = `${'#'.repeat(253)}@a`
    await test.deps.db.updateTable('users').set({ email }).where('id', '=', user.id).execute()
    const wanted = { factor_type: 'totp', issuer: '😀'.repeat(64), friendly_name: '😀'.repeat(120) }
    const { factor_type: type, friendly_name } = wanted
    const totp = {
      qr_code: expect.stringMatching(/^<svg/),
      secret: expect.any(String),
      uri: expect.stringMatching(/^otpauth:/),
    }
    expect(statusAndBody(await enrol(wanted, headers))).toEqual([200, { id: anyId, type, friendly_name, totp }])
  })

  it('401: refuses a request without an access token', async () => {
    const missing = 'This endpoint requires a valid Bearer token'
    await expectEnrolFailure({ factor_type: 'totp' }, {}, [401, 'no_authorization', missing])
  })

  it('403: refuses a token without a session, and a session that has ended', async () => {
    const totp = { factor_type: 'totp' }
    const { user, headers } = await createSignedIn(test)
    const ended = [403, 'session_not_found', 'Session from session_id claim in JWT does not exist'] as const
    await expectEnrolFailure(totp, { authorization: forgeBearer({ sub: user.id }) }, ended)
    await test.deps.db.deleteFrom('sessions').where('user_id', '=', user.id).execute()
    await expectEnrolFailure(totp, headers, ended)
  })

  it('403: refuses an anonymous user', async () => {
    const { access_token } = (await test.post('/signup', {})).json()
    await expectEnrolFailure({ factor_type: 'totp' }, { authorization: `Bearer ${access_token}` }, [
      403,
      'no_authorization',
      'Anonymous user not allowed to perform these actions',
    ])
  })

  it('422: refuses a taken name, and an empty name twice', async () => {
    const { headers } = await createSignedIn(test)
    await enrolApp(test, headers, 'app')
    const taken = (name: string): Failure => [
      422,
      'mfa_factor_name_conflict',
      `A factor with the friendly name "${name}" for this user already exists`,
    ]
    await expectEnrolFailure({ factor_type: 'totp', friendly_name: 'app' }, headers, taken('app'))
    await enrolApp(test, headers)
    await expectEnrolFailure({ factor_type: 'totp' }, headers, taken(''))
    await expectEnrolFailure({ factor_type: 'phone', phone: '14155550100', friendly_name: ' ' }, headers, taken(' '))
  })

  it('422: refuses a factor over the limit of enrolled or verified factors', async () => {
    const { headers } = await createSignedIn(test)
    for (const name of ['a', 'b', 'c']) await enrolApp(test, headers, name)
    await expectEnrolFailure({ factor_type: 'totp', friendly_name: 'd' }, headers, TOO_MANY)
    const signedIn = await createSignedIn(test)
    const first = await addApp(test, signedIn.headers, 'a')
    const second = await addApp(test, first.headers, 'b')
    await expectEnrolFailure({ factor_type: 'totp', friendly_name: 'c' }, second.headers, TOO_MANY)
  })

  // ASVS 2.3.2, 2.3.4
  it('422: parallel requests enrol no more factors than the limit', async () => {
    const { headers } = await createSignedIn(test)
    const names = Array.from({ length: 12 }, (_, index) => `app ${index}`)
    const answers = await Promise.all(
      names.map((friendly_name) => enrol({ factor_type: 'totp', friendly_name }, headers)),
    )
    const enrolled = {
      id: anyId,
      type: 'totp',
      friendly_name: expect.stringMatching(/^app \d+$/),
      totp: { qr_code: expect.any(String), secret: expect.any(String), uri: expect.any(String) },
    }
    expect(answersByStatus(answers)).toEqual([
      ...Array(3).fill([200, enrolled]),
      ...Array(9).fill([422, errorBody(...TOO_MANY)]),
    ])
    expect(await factorsOf(headers)).toHaveLength(3)
  })

  // ASVS 7.5.1, 10.3.4
  it('403: refuses to enrol beside a verified factor in a session of aal1', async () => {
    const signedIn = await createSignedIn(test)
    await addApp(test, signedIn.headers, 'app')
    const later = await signIn(test, signedIn)
    await expectEnrolFailure({ factor_type: 'totp', friendly_name: 'mine' }, later.headers, NEEDS_AAL2)
  })

  it('403: refuses to enrol by an access token of aal1, although its session has been stepped up since', async () => {
    const { headers } = await createSignedIn(test)
    await addApp(test, headers, 'app')
    await expectEnrolFailure({ factor_type: 'totp', friendly_name: 'mine' }, headers, NEEDS_AAL2)
  })

  it('422: refuses to unenrol by an access token of aal1, although its session has been stepped up since', async () => {
    const { headers } = await createSignedIn(test)
    const { app } = await addApp(test, headers, 'app')
    const text = 'AAL2 required to unenroll verified factor'
    await expectUnenrolFailure(app.factorId, headers, [422, 'insufficient_aal', text])
  })

  it('403: refuses to verify an older factor in a session of aal1', async () => {
    const signedIn = await createSignedIn(test)
    const planted = await enrolApp(test, signedIn.headers, 'planted')
    const { user } = signedIn
    // Use another type, because verifying a factor deletes unverified factors of the same type.
    const values = { user_id: user.id, factor_type: 'phone', phone: '14155550100', status: 'verified' }
    await test.deps.db.insertInto('mfa_factors').values(factorRow(values)).execute()
    const later = await signIn(test, signedIn)
    const answer = await answerChallenge(test, later.headers, { factorId: planted.factorId, code: planted.code() })
    expect([answer.statusCode, answer.json()]).toEqual([
      403,
      { code: 403, error_code: NEEDS_AAL2[1], msg: NEEDS_AAL2[2] },
    ])
  })

  it('200: replaces old unverified factors, except those with an open challenge', async () => {
    const { headers } = await createSignedIn(test)
    await enrolApp(test, headers, 'a')
    const { factorId } = await enrolApp(test, headers, 'b')
    await challenge(test, headers, factorId)
    test.clock.advance(300_000)
    const late = await enrolApp(test, headers, 'c')
    expect(await factorsOf(headers)).toHaveLength(3)
    test.clock.advance(1)
    const { factorId: again } = await enrolApp(test, headers, 'a')
    expect((await factorsOf(headers)).map(({ id }) => id)).toEqual([factorId, late.factorId, again])
  })
})

describe('DELETE /factors/{factor_id}', () => {
  it('200: unenrols an unverified factor in any session and sends no mail', async () => {
    const { headers, user } = await createSignedIn(test)
    const { factorId } = await enrolApp(test, headers)
    const answer = await unenrol(factorId.toUpperCase(), headers)
    expect([answer.statusCode, answer.json()]).toEqual([200, { id: factorId }])
    expect(await factorsOf(headers)).toEqual([])
    expect(await actionsOf(user.id)).toEqual(['login', 'factor_in_progress', 'factor_unenrolled'])
    await test.idle()
    expect(test.recipients()).not.toContain(user.email)
  })

  it('200: unenrols a verified factor in a session of aal2, lowers the session to aal1 and sends a mail', async () => {
    const signedIn = await createSignedIn(test)
    const { app, headers, refreshToken } = await addApp(test, signedIn.headers)
    expect(statusAndBody(await unenrol(app.factorId, headers))).toEqual([200, { id: anyId }])
    const { mail } = await test.readMail(signedIn.email)
    expect(mail.subject).toBe('A verification method was removed from your account')
    expect(mail.text).toContain('(totp)')
    const refreshed = await test.post('/token?grant_type=refresh_token', { refresh_token: refreshToken })
    const { aal, amr } = JSON.parse(Buffer.from(refreshed.json().access_token.split('.')[1], 'base64url').toString())
    expect([aal, amr.map(({ method }: { method: string }) => method)]).toEqual(['aal1', ['password']])
  })

  it('422: refuses a verified factor in a session of aal1', async () => {
    const signedIn = await createSignedIn(test)
    const { app } = await addApp(test, signedIn.headers)
    const later = await signIn(test, signedIn)
    await expectUnenrolFailure(app.factorId, later.headers, [
      422,
      'insufficient_aal',
      'AAL2 required to unenroll verified factor',
    ])
  })

  it('404: refuses a factor of another user, and an unknown factor', async () => {
    const [signedIn, other] = [await createSignedIn(test), await createSignedIn(test)]
    const { app } = await addApp(test, signedIn.headers)
    await expectUnenrolFailure(app.factorId, other.headers, NOT_FOUND)
    await expectUnenrolFailure(randomUUID(), other.headers, NOT_FOUND)
  })

  it('404: refuses a malformed id', async () => {
    const { headers } = await createSignedIn(test)
    await expectUnenrolFailure('x', headers, [404, 'validation_failed', 'factor_id must be an UUID'])
  })
})
