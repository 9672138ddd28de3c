import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerChallenge, claimsOf, enrolApp } from '../../../test/authenticator-app.ts'
import {
  amrEntry,
  anyId,
  anyTime,
  claimsBody,
  errorBody,
  factorBody,
  signedUpBody,
  statusAndBody,
} from '../../../test/bodies.ts'
import { type Failure, expectFailure as failWith } from '../../../test/expect-failure.ts'
import { expectSession } from '../../../test/expect-user.ts'
import { type MailApp, openBeside, openMailApp } from '../../../test/mail-app.ts'
import { createSignedIn } from '../../../test/signed-in.ts'

const SETTINGS = {
  AUTH_DB_NAMESPACE: 'app',
  AUTH_MFA_PHONE_ENROLL_ENABLED: 'true',
  AUTH_MFA_PHONE_VERIFY_ENABLED: 'true',
  AUTH_MFA_PHONE_OTP_LENGTH: '8',
  AUTH_MFA_PHONE_TEMPLATE: '{{ .Code }} it is',
  AUTH_RATE_LIMIT_HEADER: 'x-client',
  AUTH_RATE_LIMIT_SMS_SENT: 'off',
  AUTH_SMS_TEST_OTP: '15005550001:12345678',
}

let test: MailApp
beforeAll(async () => {
  test = await openMailApp(SETTINGS)
})
afterAll(() => test.close())

type Headers = { readonly authorization: string }
const ask = (factorId: string, headers: Readonly<Record<string, string>>, payload: object = {}) =>
  test.post(`/factors/${factorId}/challenge`, payload, headers)
const expectFailure = (factorId: string, headers: Headers, payload: object, failure: Failure) =>
  failWith(test, { method: 'POST', url: `/factors/${factorId}/challenge`, headers, payload }, failure)

async function enrolPhone(headers: Headers, phone: string): Promise<string> {
  return (await test.post('/factors', { factor_type: 'phone', phone, friendly_name: phone }, headers)).json().id
}

let phones = 0
async function createWithPhone() {
  const signedIn = await createSignedIn(test)
  const phone = `1415555${String(++phones).padStart(4, '0')}`
  return { ...signedIn, phone, factorId: await enrolPhone(signedIn.headers, phone) }
}

describe('POST /factors/{factor_id}/challenge', () => {
  it('200: challenges an authenticator app and sends nothing', async () => {
    const { headers } = await createSignedIn(test)
    const { factorId } = await enrolApp(test, headers)
    const answer = await ask(factorId, headers)
    const expires_at = Math.floor(test.clock.now().getTime() / 1_000) + 300
    expect([answer.statusCode, answer.json()]).toEqual([
      200,
      { id: expect.stringMatching(/^[0-9a-f-]{36}$/), type: 'totp', expires_at },
    ])
    const { factors } = (await test.app.inject({ url: '/user', headers })).json()
    expect(Date.parse(factors[0].last_challenged_at)).toBe(test.clock.now().getTime())
  })

  // ASVS 6.6.1
  it('200: sends a code to a phone, and the code steps the session up', async () => {
    const { headers, factorId, phone } = await createWithPhone()
    const answer = await ask(factorId, headers)
    expect(statusAndBody(answer)).toEqual([200, { id: anyId, type: 'phone', expires_at: expect.any(Number) }])
    const { text, code, channel } = await test.sms.read(phone)
    expect([text, channel]).toEqual([`${code} it is`, 'sms'])
    expect(code).toMatch(/^\d{8}$/)
    const payload = { challenge_id: answer.json().id, code }
    const wrong = { ...payload, code: code === '00000000' ? '00000001' : '00000000' }
    await failWith(test, { method: 'POST', url: `/factors/${factorId}/verify`, headers, payload: wrong }, [
      422,
      'mfa_verification_failed',
      'Invalid MFA Phone code entered',
    ])
    const verified = await test.post(`/factors/${factorId}/verify`, payload, headers)
    expect(claimsOf(verified.json().access_token)).toEqual(
      claimsBody({
        email: expect.any(String),
        user_metadata: { name: 'Ann' },
        aal: 'aal2',
        amr: [amrEntry('mfa/phone'), amrEntry('password')],
      }),
    )
    expect(verified.json().user.factors).toEqual([
      factorBody({ id: factorId, friendly_name: phone, factor_type: 'phone', phone, last_challenged_at: anyTime }),
    ])
    // A code is valid for only one challenge.
    const again = await test.post(`/factors/${factorId}/verify`, payload, headers)
    expect(statusAndBody(again)).toEqual([
      422,
      errorBody(422, 'mfa_ip_address_mismatch', 'Challenge and verify IP addresses mismatch.'),
    ])
  })

  it('200: sends the code by WhatsApp when the gateway supports it', async () => {
    const { headers, factorId, phone } = await createWithPhone()
    expect(statusAndBody(await ask(factorId, headers, { channel: 'whatsapp' }))).toEqual([
      200,
      { id: anyId, type: 'phone', expires_at: expect.any(Number) },
    ])
    expect((await test.sms.read(phone)).channel).toBe('whatsapp')
    const other = await createWithPhone()
    await expectFailure(other.factorId, other.headers, { channel: 'pigeon' }, [
      400,
      'validation_failed',
      "Invalid channel, supported values are 'sms' or 'whatsapp'. 'whatsapp' is only supported if Twilio or Twilio Verify is used as the provider.",
    ])
  })

  it('200: accepts the test code of a test phone and sends nothing', async () => {
    const { headers, ...signedIn } = await createSignedIn(test)
    const factorId = await enrolPhone(headers, '15005550001')
    expectSession(
      await answerChallenge(test, headers, { factorId, code: '12345678' }),
      signedUpBody(signedIn, {
        factors: [
          factorBody({
            id: factorId,
            factor_type: 'phone',
            friendly_name: '15005550001',
            phone: '15005550001',
            last_challenged_at: anyTime,
          }),
        ],
      }),
    )
    await test.idle()
    expect(test.sms.messages.map(({ to }) => to)).not.toContain('15005550001')
  })

  it('422: refuses to verify a second phone with the number of a verified one', async () => {
    const { headers, factorId, phone } = await createWithPhone()
    const challenged = await ask(factorId, headers)
    const { code } = await test.sms.read(phone)
    await test.post(`/factors/${factorId}/verify`, { challenge_id: challenged.json().id, code }, headers)
    const payload = { factor_type: 'phone', phone, friendly_name: 'again' }
    await failWith(test, { method: 'POST', url: '/factors', headers, payload }, [
      422,
      'mfa_verified_factor_exists',
      'A verified phone factor already exists, unenroll the existing factor to continue',
    ])
  })

  it('429: refuses another code within the interval, also after the phone is enrolled again', async () => {
    const { headers, factorId, phone } = await createWithPhone()
    expect(statusAndBody(await ask(factorId, headers))).toEqual([
      200,
      { id: anyId, type: 'phone', expires_at: expect.any(Number) },
    ])
    test.clock.advance(59_000)
    const wait = 'For security purposes, you can only request this after 1 seconds.'
    await expectFailure(factorId, headers, {}, [429, 'over_sms_send_rate_limit', wait])
    const again = await enrolPhone(headers, phone)
    await expectFailure(again, headers, {}, [429, 'over_sms_send_rate_limit', wait])
    test.clock.advance(1_000)
    expect(statusAndBody(await ask(again, headers))).toEqual([
      200,
      { id: anyId, type: 'phone', expires_at: expect.any(Number) },
    ])
  })

  it('429: refuses more SMS than the service may send', async () => {
    const tight = await openBeside(test, { ...SETTINGS, AUTH_RATE_LIMIT_SMS_SENT: '9' })
    const { headers, factorId } = await createWithPhone()
    const limited = { code: 429, error_code: 'over_sms_send_rate_limit', msg: 'SMS rate limit exceeded' }
    let refused: unknown
    for (let sent = 0; sent < 10 && refused === undefined; sent += 1) {
      tight.clock.advance(61_000)
      const answer = await tight.post(`/factors/${factorId}/challenge`, {}, headers)
      if (answer.statusCode !== 200) refused = statusAndBody(answer)
    }
    expect(refused).toEqual([429, limited])
    await tight.close()
  })

  it('429: refuses more challenges than a client may start', async () => {
    const { headers: own, ...signedIn } = await createSignedIn(test)
    const app = await enrolApp(test, own)
    const client = { ...own, 'x-client': 'one' }
    for (let count = 0; count < 30; count += 1)
      expect(statusAndBody(await ask(app.factorId, client))).toEqual([
        200,
        { id: anyId, type: 'totp', expires_at: expect.any(Number) },
      ])
    expect(statusAndBody(await ask(app.factorId, client))).toEqual([
      429,
      errorBody(429, 'over_request_rate_limit', 'Request rate limit reached'),
    ])
    // Verifications have a separate limit.
    const code = app.code()
    const elsewhere = { ...own, 'x-client': 'two' }
    const answer = await answerChallenge(test, elsewhere, {
      factorId: app.factorId,
      code,
    })
    expectSession(
      answer,
      signedUpBody(signedIn, { factors: [factorBody({ id: app.factorId, last_challenged_at: anyTime })] }),
    )
  })

  // ASVS 8.2.2
  it('404: refuses a factor of another user', async () => {
    const { factorId } = await createWithPhone()
    const { headers } = await createSignedIn(test)
    await expectFailure(factorId, headers, {}, [404, 'mfa_factor_not_found', 'Factor not found'])
    await expectFailure('x', headers, {}, [404, 'validation_failed', 'factor_id must be an UUID'])
  })
})
