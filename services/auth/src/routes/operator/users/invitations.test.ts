import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { anyId, anyTime, emailIdentity, errorBody, unconfirmedBody } from '../../../../test/bodies.ts'
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

let test: MailApp
let support: SignedInOperator
let admin: SignedInOperator
beforeAll(async () => {
  test = await openMailApp(OPERATOR_SETTINGS)
  support = await createOperator(test, 'support')
  admin = await createOperator(test, 'admin')
})
afterAll(() => test.close())

const invite = (payload: object, by = support) => operate(test, by, 'POST /users/invitations', payload)
const entryOf = (id: string, changes: object) =>
  changeEntry(support, { action: 'users.invite', object: { kind: 'user', id }, changes })

describe('POST /operator/users/invitations', () => {
  it('201: mails an invitation, and records it', async () => {
    const email = 'invited@example.com'
    const user_metadata = { team: 'blue' }
    const identities = [emailIdentity(anyId, email, user_metadata)]
    const invited = unconfirmedBody(email, { invited_at: anyTime, user_metadata, identities })
    expect(await invite({ email, user_metadata })).toEqual([201, { user: invited }])
    const { token } = await test.readMail(email)
    const { user } = (await test.post('/verify', { type: 'invite', token_hash: token })).json()
    expect(await changesOf(test, user.id)).toEqual([entryOf(user.id, { email, user_metadata: ['team'] })])
  })

  it('201: records the names of at most 50 members of user_metadata, each cut off after 100 characters', async () => {
    const long = 'n'.repeat(101)
    const others = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`name-${i}`, 'private']))
    const metadata = { [long]: 'private', ...others }
    const [status, body] = await invite({ email: 'many@example.com', user_metadata: metadata })
    expect(status).toBe(201)
    const { user } = z.object({ user: z.object({ id: z.string() }) }).parse(body)
    const names = [long.slice(0, 100), ...Object.keys(others).slice(0, 49)]
    const changes = { email: 'many@example.com', user_metadata: names }
    expect(await changesOf(test, user.id)).toEqual([entryOf(user.id, changes)])
  })

  it('201: a double click invites once', async () => {
    const email = 'twice@example.com'
    const headers = { ...support.credentials, 'idempotency-key': randomUUID() }
    const send = () =>
      test.app.inject({ method: 'POST', url: '/operator/users/invitations', headers, payload: { email } })
    const answers = await Promise.all([send(), send()])
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([201, 201])
    expect(new Set(answers.map(({ body }) => body)).size).toBe(1)
    const entries = await changesOf(test, answers[0]?.json().user.id)
    expect(entries).toHaveLength(1)
  })

  it('422: refuses the email of a user who has confirmed it', async () => {
    const { email } = await createSignedUp(test.deps)
    const text = 'A user with this email address has already been registered'
    expect(await invite({ email })).toEqual([422, errorBody(422, 'email_exists', text)])
  })

  it('400: needs an email, and a good one', async () => {
    expect(await invite({})).toEqual([400, errorBody(400, 'validation_failed', 'An email address is required')])
    const malformed = 'Unable to validate email address: invalid format'
    expect(await invite({ email: 'x' })).toEqual([400, errorBody(400, 'validation_failed', malformed)])
  })

  it('403: refuses to invite an unconfirmed operator again, unless an admin asks', async () => {
    const { email } = await createSignedUp(test.deps, { email_confirmed_at: null, console_role: 'viewer' })
    expect(await invite({ email })).toEqual(forbidden('users.invite', 'support'))
    expect((await invite({ email }, admin))[0]).toBe(201)
  })
})

describe('the mails of operators', () => {
  it('429: are at most half of all mails, so that mails of users can still be sent', async () => {
    const limited = await openMailApp({ ...OPERATOR_SETTINGS, AUTH_RATE_LIMIT_EMAIL_SENT: '8' })
    const both = [await createOperator(limited, 'support'), await createOperator(limited, 'admin')] as const
    const statuses: number[] = []
    for (const by of [...both, ...both, ...both]) {
      const email = `flood${statuses.length}@example.com`
      const [status] = await operate(limited, by, 'POST /users/invitations', { email })
      statuses.push(status)
    }
    expect(statuses).toEqual([201, 201, 201, 201, 429, 429])
    const { rows } = await sql<{ id: string }>`SELECT id FROM ${sql.table('messages')} LIMIT 1`.execute(limited.deps.db)
    const [resent] = await operate(limited, both[0], `POST /messages/${rows[0]?.id}/resend`)
    expect(resent).toBe(429)
    const { email } = await createSignedUp(limited.deps)
    expect((await limited.post('/recover', { email })).statusCode).toBe(200)
    await limited.close()
  })
})
