import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestApp, type TestApp } from '../../../../test/auth-app.ts'
import { errorBody, factorBody } from '../../../../test/bodies.ts'
import { factorRow } from '../../../../test/factor-row.ts'
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

async function createWithFactor(changes: Parameters<typeof createSignedUp>[1] = {}) {
  const { user } = await createSignedUp(test.deps, changes)
  const row = factorRow({ user_id: user.id, factor_type: 'totp', status: 'verified', friendly_name: 'app' })
  await test.deps.db.insertInto('mfa_factors').values(row).execute()
  return { userId: user.id, factorId: row.id }
}
const reset = (userId: string, factorId: string, by = admin) =>
  operate(test, by, `DELETE /users/${userId}/factors/${factorId}`)

describe('DELETE /operator/users/:userId/factors/:factorId', () => {
  it('200: removes a second factor, and answers it', async () => {
    const { userId, factorId } = await createWithFactor()
    const factor = factorBody({ id: factorId, friendly_name: 'app' })
    expect(await reset(userId, factorId)).toEqual([200, { factor }])
    const left = test.deps.db.selectFrom('mfa_factors').select('id').where('user_id', '=', userId)
    expect(await left.execute()).toEqual([])
    const changes = { factor: { id: factorId, type: 'totp' } }
    const change = { action: 'factors.reset', object: { kind: 'user', id: userId }, changes }
    expect(await changesOf(test, userId)).toEqual([changeEntry(admin, change)])
  })

  it('403: only an admin removes factors', async () => {
    const { userId, factorId } = await createWithFactor()
    expect(await reset(userId, factorId, support)).toEqual(forbidden('factors.reset', 'support'))
  })

  it('404: refuses a factor of another user, an unknown user and an id that is no UUID', async () => {
    const [one, other] = [await createWithFactor(), await createWithFactor()]
    const unknown = errorBody(404, 'mfa_factor_not_found', 'Factor not found')
    expect(await reset(one.userId, other.factorId)).toEqual([404, unknown])
    expect(await reset(randomUUID(), one.factorId)).toEqual(unknownUser)
    const malformed = errorBody(404, 'validation_failed', 'factor_id must be an UUID')
    expect(await reset(one.userId, 'x')).toEqual([404, malformed])
  })
})
