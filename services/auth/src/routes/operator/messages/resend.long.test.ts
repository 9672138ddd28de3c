import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anyId, anyTime, emailIdentity, errorBody, statusAndBody, unconfirmedBody } from '../../../../test/bodies.ts'
import { type MailApp, openMailApp } from '../../../../test/mail-app.ts'
import {
  changeEntry,
  changesOf,
  createOperator,
  forbidden,
  OPERATOR_SETTINGS,
  operate,
  type SignedInOperator,
} from '../../../../test/operators.ts'
import { createSignedUp } from '../../../../test/signed-up.ts'
import { describeMail, describeSms } from '../../../messages/message-record.ts'
import { insertMessage } from '../../../messages/message-repository.ts'

let test: MailApp
let viewer: SignedInOperator
let support: SignedInOperator
beforeAll(async () => {
  test = await openMailApp({ ...OPERATOR_SETTINGS, AUTH_EXTERNAL_PHONE_ENABLED: 'true' })
  viewer = await createOperator(test, 'viewer')
  support = await createOperator(test, 'support')
})
afterAll(() => test.close())

const resend = (id: string, by = support) => operate(test, by, `POST /messages/${id}/resend`)
type Kind = Parameters<typeof describeMail>[0]['kind']
/** Inserts a mail that was sent to a user before. Returns its id. */
async function mailed(userId: string, kind: Kind, to: string) {
  const id = randomUUID()
  await insertMessage(test.deps.db, describeMail({ kind, messageId: id, to, userId }))
  return id
}
const message = (userId: string, purpose: string, to = 's…@example.com') => [
  201,
  {
    message: {
      ...{ id: anyId, kind: 'mail', purpose, user_id: userId, to, status: 'waiting', attempts: 0 },
      created_at: anyTime,
    },
  },
]
const over = [
  409,
  errorBody(409, 'conflict', 'The message cannot be sent again: its cause is over, or another one was just sent'),
]
const UNCONFIRMED = { email_confirmed_at: null }

describe('POST /operator/messages/:messageId/resend', () => {
  it('201: sends a recovery with new secrets, and records it', async () => {
    const { user, email } = await createSignedUp(test.deps)
    await test.post('/recover', { email })
    const { code: first } = await test.readMail(email)
    const { id } = await test.deps.db
      .selectFrom('messages')
      .select('id')
      .where('user_id', '=', user.id)
      .executeTakeFirstOrThrow()
    expect(await resend(id)).toEqual(message(user.id, 'recovery'))
    const { code } = await test.readMail(email)
    const changes = { of: id, message: anyId, purpose: 'recovery' }
    const change = { action: 'messages.resend', object: { kind: 'user', id: user.id }, changes }
    expect(await changesOf(test, user.id)).toEqual([changeEntry(support, change)])
    const verify = (token: string) => test.post('/verify', { type: 'recovery', email, token })
    const expired = [403, errorBody(403, 'otp_expired', 'Token has expired or is invalid')]
    expect(statusAndBody(await verify(first))).toEqual(expired)
    expect((await verify(code)).statusCode).toBe(200)
  })

  it('201: sends a link that leads to SITE_URL, whatever the request names', async () => {
    const { user, email } = await createSignedUp(test.deps)
    const id = await mailed(user.id, 'RECOVERY', email)
    const { siteUrl } = test.deps.config.signup.redirects
    const query = new URLSearchParams({ redirect_to: `${siteUrl}/elsewhere` })
    expect((await operate(test, support, `POST /messages/${id}/resend?${query}`))[0]).toBe(201)
    const { link } = await test.readMail(email)
    expect(link.searchParams.get('redirect_to')).toBe(siteUrl)
  })

  it('201: sends the confirmation of a sign-up', async () => {
    const { user, email } = await createSignedUp(test.deps, UNCONFIRMED)
    expect(await resend(await mailed(user.id, 'CONFIRMATION', email))).toEqual(message(user.id, 'confirmation'))
    const { code } = await test.readMail(email)
    expect((await test.post('/verify', { type: 'signup', email, token: code })).statusCode).toBe(200)
  })

  it.each([
    ['of an address that nobody has signed up with', false],
    ['of an account that is not confirmed', true],
  ])('201: sends a link to sign in %s, which brings what its request brought', async (_what, hasSignedUp) => {
    const email = `${randomUUID()}@example.com`
    if (hasSignedUp) {
      await test.post('/signup', { email, password: 'a long password', data: { name: 'at sign-up' } })
      await test.readMail(email)
    }
    await test.post('/otp', { email, data: { name: 'asked' } })
    const { code: first } = await test.readMail(email)
    const { id, user_id: userId } = await test.deps.db
      .selectFrom('messages')
      .select(['id', 'user_id'])
      .where('purpose', '=', 'magic_link')
      .where('user_id', 'in', test.deps.db.selectFrom('users').select('id').where('email', '=', email))
      .executeTakeFirstOrThrow()
    expect(await resend(id)).toEqual(message(userId, 'magic_link', `${email[0]}…@example.com`))
    const { code } = await test.readMail(email)
    const verified = await test.post('/verify', { type: 'magiclink', email, token: code })
    expect([code === first, verified.statusCode, verified.json().user.user_metadata.name]).toEqual([
      false,
      200,
      'asked',
    ])
  })

  it('201: sends an invitation, which then invites with what the admin has written', async () => {
    const email = 'sought@example.com'
    const user_metadata = { desk: 4 }
    const invited = await operate(test, support, 'POST /users/invitations', { email, user_metadata })
    const { token: first } = await test.readMail(email)
    const { user_id: userId, id } = await test.deps.db
      .selectFrom('messages')
      .select(['id', 'user_id'])
      .where('purpose', '=', 'invite')
      .executeTakeFirstOrThrow()
    const identities = [emailIdentity(userId, email, user_metadata)]
    const user = unconfirmedBody(email, { id: userId, invited_at: anyTime, user_metadata, identities })
    expect(invited).toEqual([201, { user }])
    expect(await resend(id)).toEqual(message(userId, 'invite'))
    const { token } = await test.readMail(email)
    expect(token).not.toBe(first)
    const found = test.deps.db.selectFrom('users').select('raw_user_meta_data').where('id', '=', userId)
    expect(await found.executeTakeFirst()).toEqual({ raw_user_meta_data: user_metadata })
  })

  it('201: sends a code by SMS to a phone that is confirmed', async () => {
    const phone = '4520304041'
    const { user } = await createSignedUp(test.deps, { phone, phone_confirmed_at: new Date() })
    const id = randomUUID()
    const sms = { messageId: id, to: phone, userId: user.id, channel: 'whatsapp', purpose: 'one_time_code' } as const
    await insertMessage(test.deps.db, describeSms(sms))
    expect((await resend(id))[0]).toBe(201)
    const { code, channel } = await test.sms.read(phone)
    expect(channel).toBe('whatsapp')
    expect((await test.post('/verify', { type: 'sms', phone, token: code })).statusCode).toBe(200)
  })

  it('201: sends one message for two requests with one Idempotency-Key', async () => {
    const { user, email } = await createSignedUp(test.deps)
    const id = await mailed(user.id, 'RECOVERY', email)
    const request = {
      method: 'POST' as const,
      url: `/operator/messages/${id}/resend`,
      headers: { ...support.credentials, 'idempotency-key': 'twice' },
    }
    const answers = await Promise.all([test.app.inject(request), test.app.inject(request)])
    expect(answers.map(({ statusCode, body }) => [statusCode, body])).toEqual(Array(2).fill([201, answers[0]?.body]))
    const rows = await test.deps.db.selectFrom('messages').select('id').where('user_id', '=', user.id).execute()
    expect(rows).toHaveLength(2)
  })

  it('403: a viewer sends nothing', async () => {
    expect(await resend(randomUUID(), viewer)).toEqual(forbidden('messages.resend', 'viewer'))
  })

  it('403: only an admin sends to an operator', async () => {
    const id = await mailed(viewer.user.id, 'RECOVERY', viewer.email)
    expect(await resend(id)).toEqual(forbidden('messages.resend', 'support'))
  })

  it('404: refuses an unknown message', async () => {
    expect(await resend(randomUUID())).toEqual([404, errorBody(404, 'message_not_found', 'Message not found')])
  })

  it('404: refuses a message of a deleted user', async () => {
    const { user, email } = await createSignedUp(test.deps, { deleted_at: new Date() })
    const id = await mailed(user.id, 'RECOVERY', email)
    expect(await resend(id)).toEqual([404, errorBody(404, 'user_not_found', 'User not found')])
  })

  it.each<[string, Kind, Parameters<typeof createSignedUp>[1]]>([
    ['confirmation of an address that is confirmed', 'CONFIRMATION', {}],
    ['invitation that was accepted', 'INVITE', { invited_at: new Date() }],
    ['invitation of a user who was not invited', 'INVITE', UNCONFIRMED],
    ['change of email that nobody waits for', 'EMAIL_CHANGE', {}],
    ['code for a new password', 'REAUTHENTICATION', {}],
    ['notification', 'PASSWORD_CHANGED_NOTIFICATION', {}],
  ])('409: sends no %s', async (_what, kind, changes) => {
    const { user, email } = await createSignedUp(test.deps, changes)
    expect(await resend(await mailed(user.id, kind, email))).toEqual(over)
  })

  it('409: sends nothing to another address than before', async () => {
    const { user } = await createSignedUp(test.deps)
    expect(await resend(await mailed(user.id, 'RECOVERY', 'old@example.com'))).toEqual(over)
  })
})
