import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestApp, type TestApp } from '../../../../test/auth-app.ts'
import { anyTime, errorBody, signedUpBody } from '../../../../test/bodies.ts'
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
let support: SignedInOperator
let admin: SignedInOperator
beforeAll(async () => {
  test = await openTestApp({ settings: OPERATOR_SETTINGS })
  support = await createOperator(test, 'support')
  admin = await createOperator(test, 'admin')
})
afterAll(() => test.close())

const confirm = (id: string, kind: string, by = support) =>
  operate(test, by, `POST /users/${id}/confirmation`, { kind })

describe('POST /operator/users/:userId/confirmation', () => {
  it('200: confirms an email, once and again, and the user can sign in', async () => {
    const { user, email, password } = await createSignedUp(test.deps, { email_confirmed_at: null })
    const confirmed = signedUpBody({ user, email }, { email_confirmed_at: anyTime, confirmed_at: anyTime })
    expect(await confirm(user.id, 'email')).toEqual([200, { user: confirmed }])
    expect(await confirm(user.id, 'email')).toEqual([200, { user: confirmed }])
    expect((await test.post('/token?grant_type=password', { email, password })).statusCode).toBe(200)
    const change = { action: 'users.confirm', object: { kind: 'user', id: user.id }, changes: { kind: 'email' } }
    expect(await changesOf(test, user.id)).toEqual(Array(2).fill(changeEntry(support, change)))
  })

  it('200: confirms a phone', async () => {
    const phone = '4520304052'
    const signedUp = await createSignedUp(test.deps, { phone })
    const confirmed = signedUpBody(signedUp, { phone, phone_confirmed_at: anyTime })
    expect(await confirm(signedUp.user.id, 'phone')).toEqual([200, { user: confirmed }])
  })

  it('422: has nothing to confirm where the user has no such address', async () => {
    const { user } = await createSignedUp(test.deps)
    const refused = errorBody(422, 'validation_failed', 'The user has no address of this kind')
    expect(await confirm(user.id, 'phone')).toEqual([422, refused])
    expect(await changesOf(test, user.id)).toEqual([])
  })

  it('400: refuses another kind', async () => {
    const { user } = await createSignedUp(test.deps)
    const refused = errorBody(400, 'validation_failed', 'kind: must be one of email, phone')
    expect(await confirm(user.id, 'fax')).toEqual([400, refused])
  })

  it('403: refuses to confirm the address of an operator, unless an admin asks', async () => {
    const { user } = await createSignedUp(test.deps, { console_role: 'viewer' })
    expect(await confirm(user.id, 'email')).toEqual(forbidden('users.confirm', 'support'))
    expect((await confirm(user.id, 'email', admin))[0]).toBe(200)
  })

  it('404: refuses an unknown user', async () => {
    expect(await confirm(randomUUID(), 'email')).toEqual(unknownUser)
  })
})
