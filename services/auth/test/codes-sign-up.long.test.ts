import { afterAll, describe, expect, it } from 'vitest'
import { answersByStatus, errorBody, outcomeOf, statusAndBody } from './bodies.ts'
import { NOTHING, startHookStub } from './hook-stub.ts'
import { openBeside, openMailApp } from './mail-app.ts'
import { createSignedUp } from './signed-up.ts'

const stub = await startHookStub()
const supabase = { AUTH_PROFILE: 'supabase', AUTH_EXTERNAL_PHONE_ENABLED: 'true' }
const test = await openMailApp({ ...supabase, ...stub.settings('BEFORE_USER_CREATED') })
const confirming = await openBeside(test, {
  ...supabase,
  AUTH_MAILER_AUTOCONFIRM: 'true',
  AUTH_SMS_AUTOCONFIRM: 'true',
})
const closed = await openBeside(test, { ...supabase, AUTH_DISABLE_SIGNUP: 'true' })
afterAll(async () => {
  await closed.close()
  await confirming.close()
  await test.close()
  await stub.close()
})

const countUsers = async (identifier: string) => {
  const query = test.deps.db
    .selectFrom('users')
    .select(['email_confirmed_at', 'phone_confirmed_at'])
    .where((where) => where.or([where('email', '=', identifier), where('phone', '=', identifier)]))
  return (await query.execute()).map((row) => (row.email_confirmed_at ?? row.phone_confirmed_at) !== null)
}

describe('POST /otp where codes sign up', () => {
  it('200: makes one user for parallel requests of a new address, under autoconfirm a confirmed one', async () => {
    const [email, phone, confirmed] = ['parallel@example.com', '14155550160', 'confirmed@example.com']
    const bodies = [{ email }, { phone }].flatMap((body) => [body, body, body])
    const answers = await Promise.all(bodies.map((body) => test.post('/otp', body)))
    expect(answers.filter(({ statusCode }) => statusCode === 200)).toHaveLength(2)
    expect(answers.filter(({ statusCode }) => statusCode === 429)).toHaveLength(4)
    expect([await countUsers(email), await countUsers(phone)]).toEqual([[false], [false]])
    const same = await Promise.all([1, 2].map(() => confirming.post('/otp', { email: confirmed })))
    const wait = 'For security purposes, you can only request this after 60 seconds.'
    expect(answersByStatus(same)).toEqual([
      [200, {}],
      [429, errorBody(429, 'over_email_send_rate_limit', wait)],
    ])
    expect(await countUsers(confirmed)).toEqual([true])
    const { link, code } = await test.readMail(confirmed)
    expect(link.searchParams.get('type')).toBe('magiclink')
    const verified = await confirming.post('/verify', { type: 'magiclink', email: confirmed, token: code })
    expect(verified.statusCode).toBe(200)
  })

  it('200: makes a confirmed user of a new phone under autoconfirm, and sends the code', async () => {
    const phone = '14155550161'
    expect((await confirming.post('/otp', { phone })).statusCode).toBe(200)
    expect(await countUsers(phone)).toEqual([true])
    const { code } = await test.sms.read(phone)
    expect((await confirming.post('/verify', { type: 'sms', phone, token: code })).statusCode).toBe(200)
  })

  it('403: makes no user and sends no mail when the hook refuses at the request for a code', async () => {
    stub.answer = () => ({ body: { error: { http_code: 403, message: 'Not you' } } })
    const [email, phone] = ['refused-code@example.com', '14155550162']
    const known = await createSignedUp(test.deps, {
      phone: '14155550163',
      phone_confirmed_at: new Date().toISOString(),
    })
    const answers = await Promise.all(
      [{ email }, { phone }, { email: known.email }, { phone: '14155550163' }].map((body) => test.post('/otp', body)),
    )
    stub.answer = () => NOTHING
    const refused = [403, errorBody(403, 'unknown', 'Not you')]
    expect(answers.map(outcomeOf)).toEqual([refused, refused, 200, 200])
    await test.idle()
    expect([await countUsers(email), await countUsers(phone)]).toEqual([[], []])
    expect(test.recipients()).not.toContain(email)
  })

  it('422: makes nobody with `create_user: false` or while sign-ups are disabled', async () => {
    const email = 'uninvited@example.com'
    const answers = [
      await test.post('/otp', { email, create_user: false }),
      await test.post('/otp', { phone: '14155550164', create_user: false }),
      await closed.post('/otp', { email }),
      await closed.post('/magiclink', { email }),
    ]
    const unknown = [422, errorBody(422, 'otp_disabled', 'Signups not allowed for otp')]
    const refused = [422, errorBody(422, 'signup_disabled', 'Signups not allowed for this instance')]
    expect(answers.map(statusAndBody)).toEqual([unknown, unknown, refused, refused])
    expect(await countUsers(email)).toEqual([])
  })
})
