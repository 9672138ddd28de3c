import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerBehind } from '../../../test/answer-behind.ts'
import { openTestApp, type TestApp } from '../../../test/auth-app.ts'
import {
  anyTime,
  confirmedBody,
  emailIdentity,
  errorBody,
  phoneIdentity,
  signedUpBody,
  statusAndBody,
  unknownRefreshToken,
} from '../../../test/bodies.ts'
import {
  changeEntry,
  changesOf,
  createOperator,
  forbidden,
  OPERATOR_SETTINGS,
  operate,
  type SignedInOperator,
  unauthorized,
  unknownUser,
} from '../../../test/operators.ts'
import { createSignedIn } from '../../../test/signed-in.ts'
import { createSignedUp } from '../../../test/signed-up.ts'

let test: TestApp
let support: SignedInOperator
let admin: SignedInOperator
beforeAll(async () => {
  test = await openTestApp({ settings: OPERATOR_SETTINGS })
  support = await createOperator(test, 'support')
  admin = await createOperator(test, 'admin')
})
afterAll(() => test.close())

/** The entry of the audit log for a change of a user by the admin. */
const entryOf = (action: string, id: string, changes: object) =>
  changeEntry(admin, { action, object: { kind: 'user', id }, changes })
const invalid = (text: string) => [400, errorBody(400, 'validation_failed', text)]

describe('POST /operator/users', () => {
  const create = (payload: object, by = admin) => operate(test, by, 'POST /users', payload)

  it('201: makes a user, without a role or app_metadata of the body', async () => {
    const id = randomUUID()
    const email = 'made@example.com'
    const fields = { role: 'service_role', app_metadata: { console_role: 'admin', plan: 'gold' } }
    const user = confirmedBody(id, email)
    expect(await create({ id, email, email_confirm: true, password: 'correct horse 9', ...fields })).toEqual([
      201,
      { user },
    ])
    expect(await changesOf(test, id)).toEqual([entryOf('users.create', id, { email })])
  })

  it('400: needs an address', async () => {
    expect(await create({})).toEqual(invalid('Cannot create a user without either an email or phone'))
  })

  it('422: refuses an email that is taken', async () => {
    const { email } = await createSignedUp(test.deps)
    const text = 'A user with this email address has already been registered'
    expect(await create({ email })).toEqual([422, errorBody(422, 'email_exists', text)])
  })

  it('409: refuses an id that is taken', async () => {
    const { user } = await createSignedUp(test.deps)
    const text = 'A user with this id already exists'
    expect(await create({ id: user.id, email: 'other@example.com' })).toEqual([409, errorBody(409, 'conflict', text)])
  })

  it('403: only an admin makes users', async () => {
    expect(await create({ email: 'never@example.com' }, support)).toEqual(forbidden('users.create', 'support'))
  })
})

describe('PUT /operator/users/:userId', () => {
  const change = (id: string, payload: object, by = admin) => operate(test, by, `PUT /users/${id}`, payload)

  it('200: changes a phone, as an admin of the API does', async () => {
    const { user, email } = await createSignedUp(test.deps)
    const phone = '4520304053'
    const identities = [emailIdentity(user.id, email, { email_verified: true }), phoneIdentity(user.id, phone)]
    const app_metadata = { provider: 'email', providers: ['email', 'phone'] }
    const changed = signedUpBody({ user, email }, { phone, app_metadata, identities })
    expect(await change(user.id, { phone: '+45 20 30 40 53' })).toEqual([200, { user: changed }])
    const entry = entryOf('users.change', user.id, { phone: '+45 20 30 40 53' })
    expect(await changesOf(test, user.id)).toEqual([entry])
  })

  it('200: sets a password, ends all sessions, and keeps the password out of the audit log', async () => {
    const { user, refreshToken, email } = await createSignedIn(test)
    const password = 'another horse, 2026'
    expect((await change(user.id, { password }))[0]).toBe(200)
    const refused = await test.post('/token?grant_type=refresh_token', { refresh_token: refreshToken })
    expect(statusAndBody(refused)).toEqual(unknownRefreshToken)
    expect((await test.post('/token?grant_type=password', { email, password })).statusCode).toBe(200)
    expect(await changesOf(test, user.id)).toEqual([entryOf('users.change', user.id, { password: 'changed' })])
    const stored = await test.deps.db.selectFrom('operator_changes').select('sealed_body').execute()
    expect(JSON.stringify(stored)).not.toContain(password)
  })

  it('400: needs something to change', async () => {
    const { user } = await createSignedUp(test.deps)
    for (const payload of [{}, { email: '' }, { role: 'service_role' }])
      expect(await change(user.id, payload)).toEqual(invalid('needs one of email, phone and password'))
  })

  it('422: refuses a phone that is taken', async () => {
    await createSignedUp(test.deps, { phone: '4520304054' })
    const { user } = await createSignedUp(test.deps)
    const text = 'Phone number already registered by another user'
    expect(await change(user.id, { phone: '4520304054' })).toEqual([422, errorBody(422, 'phone_exists', text)])
    expect(await changesOf(test, user.id)).toEqual([])
  })

  it('422: refuses a weak password', async () => {
    const { user } = await createSignedUp(test.deps)
    const text = 'Password should be at least 6 characters.'
    const weak = errorBody(422, 'weak_password', text, { weak_password: { reasons: ['length'] } })
    expect(await change(user.id, { password: 'x' })).toEqual([422, weak])
    expect(await changesOf(test, user.id)).toEqual([])
  })

  it('403: refuses support', async () => {
    const { user } = await createSignedUp(test.deps)
    expect(await change(user.id, { phone: '4520304055' }, support)).toEqual(forbidden('users.change', 'support'))
  })

  it('404: refuses an unknown user', async () => {
    expect(await change(randomUUID(), { phone: '4520304055' })).toEqual(unknownUser)
  })
})

describe('DELETE /operator/users/:userId', () => {
  const remove = (path: string, by = admin) => operate(test, by, `DELETE /users/${path}`)
  const find = (id: string) => test.deps.db.selectFrom('users').select('deleted_at').where('id', '=', id).execute()

  const deleted = (id: string, manner: string) => [entryOf('users.delete', id, { manner })]

  it('200: keeps the row without what identifies the user', async () => {
    const { user } = await createSignedUp(test.deps)
    expect(await remove(user.id)).toEqual([200, {}])
    expect(await find(user.id)).toEqual([{ deleted_at: anyTime }])
    expect(await changesOf(test, user.id)).toEqual(deleted(user.id, 'soft'))
  })

  it('200: removes the row where nothing is to stay', async () => {
    const { user } = await createSignedUp(test.deps)
    expect(await remove(`${user.id}?soft=false`)).toEqual([200, {}])
    expect(await find(user.id)).toEqual([])
    expect(await changesOf(test, user.id)).toEqual(deleted(user.id, 'hard'))
  })

  it('400: refuses a value of `soft` other than true and false', async () => {
    expect(await remove(`${randomUUID()}?soft=perhaps`)).toEqual(invalid('soft: must be one of true, false'))
  })

  it('403: nobody deletes themselves', async () => {
    expect(await remove(admin.user.id)).toEqual(forbidden('users.delete', 'admin'))
    expect(await find(admin.user.id)).toEqual([{ deleted_at: null }])
  })

  it('401: refuses an admin whose own role is taken meanwhile, so two of them do not delete each other', async () => {
    const [first, second] = [await createOperator(test, 'admin'), await createOperator(test, 'admin')]
    const answer = await answerBehind(
      test.deps.db,
      (trx) => trx.updateTable('users').set({ console_role: null }).where('id', '=', first.user.id).execute(),
      () => remove(second.user.id, first),
    )
    expect(answer).toEqual(unauthorized)
    expect(await find(second.user.id)).toEqual([{ deleted_at: null }])
  })

  it('403: only an admin deletes', async () => {
    const { user } = await createSignedUp(test.deps)
    expect(await remove(user.id, support)).toEqual(forbidden('users.delete', 'support'))
    expect(await find(user.id)).toEqual([{ deleted_at: null }])
  })

  it('404: refuses an unknown user', async () => {
    expect(await remove(randomUUID())).toEqual(unknownUser)
  })

  it('404: refuses a deleted user', async () => {
    const { user } = await createSignedUp(test.deps, { deleted_at: new Date() })
    expect(await remove(user.id)).toEqual(unknownUser)
  })
})
