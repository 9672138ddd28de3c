import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerBehind } from '../../../../test/answer-behind.ts'
import { openTestApp, type TestApp } from '../../../../test/auth-app.ts'
import { anyTime, errorBody, signedUpBody, statusAndBody, unknownRefreshToken } from '../../../../test/bodies.ts'
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
} from '../../../../test/operators.ts'
import { createSignedIn } from '../../../../test/signed-in.ts'
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

const assign = (id: string, role: unknown, by = admin) => operate(test, by, `PUT /users/${id}/console-role`, { role })
const roleOf = async (id: string) =>
  (await test.deps.db.selectFrom('users').select('console_role').where('id', '=', id).executeTakeFirst())?.console_role

describe('PUT /operator/users/:userId/console-role', () => {
  it('200: gives, changes and takes a role, and ends the sessions of the user each time', async () => {
    const { user, email, refreshToken } = await createSignedIn(test)
    const app_metadata = { provider: 'email', providers: ['email'], console_role: 'support' }
    const shown = signedUpBody({ user, email }, { app_metadata, last_sign_in_at: anyTime })
    expect(await assign(user.id, 'support')).toEqual([200, { user: shown }])
    const refused = await test.post('/token?grant_type=refresh_token', { refresh_token: refreshToken })
    expect(statusAndBody(refused)).toEqual(unknownRefreshToken)
    await assign(user.id, 'viewer')
    expect(await roleOf(user.id)).toBe('viewer')
    await assign(user.id, null)
    expect(await roleOf(user.id)).toBeNull()
    const object = { kind: 'user', id: user.id }
    expect(await changesOf(test, user.id)).toEqual(
      ['support', 'viewer', null].map((role) =>
        changeEntry(admin, { action: 'users.assign-role', object, changes: { role } }),
      ),
    )
  })

  it('403: nobody changes their own role', async () => {
    expect(await assign(admin.user.id, null)).toEqual(forbidden('users.assign-role', 'admin'))
    expect(await roleOf(admin.user.id)).toBe('admin')
  })

  it("401: refuses an admin whose own role is taken meanwhile, so two of them do not take each other's", async () => {
    const [first, second] = [await createOperator(test, 'admin'), await createOperator(test, 'admin')]
    const taken = await answerBehind(
      test.deps.db,
      (trx) => trx.updateTable('users').set({ console_role: null }).where('id', '=', first.user.id).execute(),
      () => assign(second.user.id, null, first),
    )
    expect(taken).toEqual(unauthorized)
    expect(await roleOf(second.user.id)).toBe('admin')
  })

  it('403: only an admin gives roles', async () => {
    const { user } = await createSignedUp(test.deps)
    expect(await assign(user.id, 'viewer', support)).toEqual(forbidden('users.assign-role', 'support'))
    expect(await roleOf(user.id)).toBeNull()
  })

  it('400: refuses a word that is no role', async () => {
    const { user } = await createSignedUp(test.deps)
    const refused = errorBody(400, 'validation_failed', 'role: must be one of viewer, support, admin')
    expect(await assign(user.id, 'owner')).toEqual([400, refused])
  })

  it('404: refuses an unknown user and a deleted user', async () => {
    const { user } = await createSignedUp(test.deps, { deleted_at: new Date() })
    for (const id of [randomUUID(), user.id]) expect(await assign(id, 'viewer')).toEqual(unknownUser)
  })
})
