import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { openTestApp, type TestApp } from '../../../../test/auth-app.ts'
import { errorBody, sessionBody, signedUpBody, statusAndBody } from '../../../../test/bodies.ts'
import { OPERATOR } from '../../../../test/forged-token.ts'
import {
  changeEntry,
  changesOf,
  createOperator,
  forbidden,
  OPERATOR_SETTINGS,
  operate,
  type SignedInOperator,
  unknownUser,
} from '../../../../test/operators.ts'
import { createSignedUp } from '../../../../test/signed-up.ts'

let test: TestApp
let admin: SignedInOperator
beforeAll(async () => {
  test = await openTestApp({
    settings: { ...OPERATOR_SETTINGS, AUTH_OPERATOR_SIGN_IN_AS: 'yes', AUTH_JWT_ADMIN_ROLES: 'service_role,staff' },
  })
  admin = await createOperator(test, 'admin')
})
afterAll(() => test.close())

const make = (id: string, body: object = { reason: 'Ticket 4711' }, by = admin, service = test) =>
  operate(service, by, `POST /users/${id}/sign-in-link`, body)
const link = expect.stringMatching(
  /^http:\/\/localhost:8081\/verify\?token=[0-9a-f]{56}&type=magiclink&redirect_to=http:\/\/localhost:3000$/,
)
/** The refusal of a used or expired link. */
const dead = [403, errorBody(403, 'otp_expired', 'Email link is invalid or has expired')]
const open = async (body: unknown) => {
  const { token, type } = Object.fromEntries(new URL(z.object({ link: z.string() }).parse(body).link).searchParams)
  return test.post('/verify', { token_hash: token, type })
}

describe('POST /operator/users/:userId/sign-in-link', () => {
  it('201: makes a link that signs in as the user once, and records the reason', async () => {
    const { user, email } = await createSignedUp(test.deps)
    const [status, body] = await make(user.id)
    expect([status, body]).toEqual([201, { link }])
    const object = { kind: 'user', id: user.id }
    const change = { action: 'users.sign-in-as', object, changes: { reason: 'Ticket 4711' } }
    expect(await changesOf(test, user.id)).toEqual([changeEntry(admin, change)])
    const session = sessionBody(signedUpBody({ user, email }), { type: 'magiclink' })
    expect(statusAndBody(await open(body))).toEqual([200, session])
    expect(statusAndBody(await open(body))).toEqual(dead)
  })

  it('201: answers a repeat with the same link, also after the link was used', async () => {
    const { user } = await createSignedUp(test.deps)
    const ask = { method: 'POST', url: `/operator/users/${user.id}/sign-in-link`, payload: { reason: 'x' } } as const
    const headers = { ...admin.credentials, 'idempotency-key': randomUUID() }
    const first = await test.app.inject({ ...ask, headers })
    expect((await open(first.json())).statusCode).toBe(200)
    const repeat = await test.app.inject({ ...ask, headers })
    const { statusCode, body } = repeat
    expect([statusCode, body, repeat.headers['idempotent-replayed']]).toEqual([201, first.body, 'true'])
    expect(statusAndBody(await open(repeat.json()))).toEqual(dead)
    expect(await changesOf(test, user.id)).toHaveLength(1)
  })

  it('403: ends links that wait when a user becomes an operator, also those of an admin of the API', async () => {
    const { user } = await createSignedUp(test.deps)
    const [, body] = await make(user.id)
    const give = (id: string) => operate(test, admin, `PUT /users/${id}/console-role`, { role: 'admin' })
    await give(user.id)
    expect(statusAndBody(await open(body))).toEqual(dead)
    const { user: later } = await createSignedUp(test.deps)
    const asked = { type: 'recovery', email: later.email }
    const { hashed_token } = (await test.post('/admin/generate_link', asked, OPERATOR)).json()
    await give(later.id)
    expect(statusAndBody(await test.post('/verify', { token_hash: hashed_token, type: 'recovery' }))).toEqual(dead)
  })

  it('201: makes a link that is dead after ten minutes', async () => {
    const { user } = await createSignedUp(test.deps)
    const [status, body] = await make(user.id)
    expect(status).toBe(201)
    const { expires_at: end, sent_at: start } = await test.deps.db
      .selectFrom('one_time_tokens')
      .select(['expires_at', 'sent_at'])
      .where('user_id', '=', user.id)
      .executeTakeFirstOrThrow()
    expect(Date.parse(end) - Date.parse(String(start))).toBe(600_000)
    await test.deps.db
      .updateTable('one_time_tokens')
      .set({ expires_at: test.clock.now() })
      .where('user_id', '=', user.id)
      .execute()
    expect(statusAndBody(await open(body))).toEqual(dead)
  })

  it.each([
    [{}, 'reason: must be a string'],
    [{ reason: '' }, 'reason: must be at least 1 characters'],
    [{ reason: 'x'.repeat(256) }, 'reason: must be at most 255 characters'],
  ])('400: refuses the reason of %j', async (body, text) => {
    const { user } = await createSignedUp(test.deps)
    expect(await make(user.id, body)).toEqual([400, errorBody(400, 'validation_failed', text)])
  })

  it('403: only an admin makes links', async () => {
    const support = await createOperator(test, 'support')
    const refused = forbidden('users.sign-in-as', 'support')
    expect(await make(randomUUID(), { reason: 'x' }, support)).toEqual(refused)
  })

  it.each([
    ['an operator', { console_role: 'viewer' }],
    ['an admin of the API', { role: 'staff' }],
  ])('403: nobody signs in as %s', async (_who, changes) => {
    const { user } = await createSignedUp(test.deps, changes)
    expect(await make(user.id)).toEqual(forbidden('users.sign-in-as', 'admin'))
  })

  it('404: refuses an unknown user', async () => {
    expect(await make(randomUUID())).toEqual(unknownUser)
  })

  it('404: refuses a deleted user', async () => {
    const { user } = await createSignedUp(test.deps, { deleted_at: new Date() })
    expect(await make(user.id)).toEqual(unknownUser)
  })

  it('404: is not there without AUTH_OPERATOR_SIGN_IN_AS', async () => {
    const { user } = await createSignedUp(test.deps)
    const usual = await openTestApp({ settings: OPERATOR_SETTINGS, database: test.database })
    const missing = [404, errorBody(404, 'not_found', 'Not found')]
    expect(await make(user.id, { reason: 'x' }, admin, usual)).toEqual(missing)
    await usual.close()
  })

  it.each([
    ['no email', { email: null, phone: '4520304077', phone_confirmed_at: new Date() }],
    ['an email that is not confirmed, which the link would confirm', { email_confirmed_at: null }],
  ])('422: makes no link for a user with %s', async (_what, changes) => {
    const { user } = await createSignedUp(test.deps, changes)
    const text = 'A sign-in link needs a user with a confirmed email address'
    expect(await make(user.id)).toEqual([422, errorBody(422, 'validation_failed', text)])
  })
})
