import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { anyId, anyTime, errorBody, statusAndBody } from '../../../test/bodies.ts'
import { type MailApp, openMailApp } from '../../../test/mail-app.ts'
import { createOperator, OPERATOR_SETTINGS, operate, type SignedInOperator } from '../../../test/operators.ts'
import { createSignedUp, type SignedUp } from '../../../test/signed-up.ts'
import { SMS_TAKEN } from '../../../test/sms-stub.ts'

let test: MailApp
let viewer: SignedInOperator
const SETTINGS = { ...OPERATOR_SETTINGS, AUTH_EXTERNAL_PHONE_ENABLED: 'true' }
beforeAll(async () => {
  test = await openMailApp(SETTINGS)
  viewer = await createOperator(test, 'viewer')
})
afterAll(() => test.close())

const list = (query = '') => operate(test, viewer, `GET /messages${query}`)
const ofUser = (id: string) => list(`?user=${id}`)
const sent = (userId: string, purpose: string, changes: object = {}) => ({
  id: anyId,
  kind: 'mail',
  purpose,
  user_id: userId,
  to: 's…@example.com',
  status: 'sent',
  attempts: 1,
  created_at: anyTime,
  sent_at: anyTime,
  ...changes,
})
const notSent = (userId: string, purpose: string, changes: object) => {
  const { sent_at: _never, ...rest } = sent(userId, purpose, changes)
  return rest
}

describe('GET /operator/messages', () => {
  it('200: shows the mail of a sign-up once it is sent, with a masked address and without a secret', async () => {
    const email = 'sign-up@example.com'
    const { id } = (await test.post('/signup', { email, password: 'correct horse' })).json()
    const { code, token } = await test.readMail(email)
    await test.idle()
    const answer = await ofUser(id)
    expect(answer).toEqual([200, { messages: [sent(id, 'confirmation')] }])
    for (const secret of [email, code, token]) expect(JSON.stringify(answer)).not.toContain(secret)
    const { rows } = await sql`SELECT * FROM ${sql.table('messages')}`.execute(test.deps.db)
    for (const secret of [email, code, token]) expect(JSON.stringify(rows)).not.toContain(secret)
  })

  it('200: shows the messages of a user, the newest first', async () => {
    const { user, email } = await createSignedUp(test.deps)
    await test.post('/recover', { email })
    await test.readMail(email)
    await test.idle()
    await test.post('/otp', { email })
    await test.idle()
    // The second mail is not sent, because the interval between two mails of a kind has not passed.
    await test.post('/otp', { email })
    await test.idle()
    const messages = [sent(user.id, 'magic_link'), sent(user.id, 'recovery')]
    expect(await ofUser(user.id)).toEqual([200, { messages }])
  })

  it('200: shows an SMS that a request has sent itself', async () => {
    const phone = '4520304031'
    const { user } = await createSignedUp(test.deps, { phone, phone_confirmed_at: new Date() })
    await test.post('/otp', { phone })
    await test.idle()
    const shown = { ...sent(user.id, 'one_time_code'), kind: 'sms', to: '…31' }
    expect(await ofUser(user.id)).toEqual([200, { messages: [shown] }])
  })

  it('200: shows an SMS as failed when the gateway has refused it', async () => {
    test.sms.answer = { status: 400, body: { code: 21211, message: 'not a valid number' } }
    const phone = '4520304032'
    const { user } = await createSignedUp(test.deps, { phone, phone_confirmed_at: new Date() })
    await test.post('/otp', { phone })
    await test.idle()
    test.sms.answer = SMS_TAKEN
    const changes = { kind: 'sms', to: '…32', status: 'failed', error: 'twilio refused the message (21211)' }
    expect(await ofUser(user.id)).toEqual([200, { messages: [notSent(user.id, 'one_time_code', changes)] }])
  })

  it.each([
    ['?status=lost', 'status: must be one of waiting, sent, failed'],
    ['?user=x', 'user: must be a UUID'],
    ['?cursor=audit.x', 'Bad Pagination Parameters: cursor is none of this list'],
  ])('400: refuses the query %s', async (query, text) => {
    const [status, body] = await list(query)
    expect([status, body]).toEqual([400, errorBody(400, 'validation_failed', text)])
  })
})

describe('GET /operator/messages while the mail server takes nothing', () => {
  let refused: MailApp
  let operator: SignedInOperator
  /** The users to whom mails were sent, in this order. */
  let users: readonly SignedUp[]
  beforeAll(async () => {
    refused = await openMailApp(SETTINGS)
    operator = await createOperator(refused, 'viewer')
    refused.refuseMails()
    users = [await createSignedUp(refused.deps), await createSignedUp(refused.deps)]
    for (const [index, { email }] of users.entries()) {
      await refused.post('/recover', { email })
      // Wait for the job that creates the mail. Otherwise the mail of the next request could come first.
      const expected = [200, { messages: waitingFor(users.slice(0, index + 1)) }]
      await vi.waitFor(async () => expect(await list()).toEqual(expected), { timeout: 60_000 })
    }
  })
  afterAll(() => refused.close())

  const open = (url: string) => refused.app.inject({ url, headers: { ...operator.credentials } })
  const waiting = (userId: string) =>
    notSent(userId, 'recovery', { status: 'waiting', attempts: expect.any(Number), error: 'SMTP EMESSAGE 451' })
  const waitingFor = (asked: readonly SignedUp[]) => asked.map(({ user }) => waiting(user.id)).toReversed()
  const list = async () => statusAndBody(await open('/operator/messages'))

  it('200: shows mails as waiting, with the reason', async () => {
    await expect.poll(list).toEqual([200, { messages: waitingFor(users) }])
  })

  it('200: lists messages of a status page by page', async () => {
    const [first, second] = users.map(({ user }) => waiting(user.id))
    await expect.poll(list).toEqual([200, { messages: [second, first] }])
    const newest = await open('/operator/messages?status=waiting&limit=1')
    expect(statusAndBody(newest)).toEqual([200, { messages: [second] }])
    const [, next = ''] = /<([^>]+)>; rel="next"/.exec(String(newest.headers.link)) ?? []
    expect(statusAndBody(await open(next))).toEqual([200, { messages: [first] }])
  })
})
