import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openTestApp, type TestApp } from '../../../../test/auth-app.ts'
import { statusAndBody } from '../../../../test/bodies.ts'
import { keyBody, keyConflict, operateKeys, unknownKey } from '../../../../test/operated-keys.ts'
import {
  changeEntry,
  createOperator,
  forbidden,
  OPERATOR_SETTINGS,
  operate,
  type SignedInOperator,
} from '../../../../test/operators.ts'

let test: TestApp
let support: SignedInOperator
let admin: SignedInOperator
let keys: ReturnType<typeof operateKeys>
beforeAll(async () => {
  test = await openTestApp({ settings: OPERATOR_SETTINGS })
  support = await createOperator(test, 'support')
  admin = await createOperator(test, 'admin')
  keys = operateKeys(test, admin)
})
beforeEach(() => test.deps.db.deleteFrom('signing_keys').execute())
afterAll(() => test.close())

describe('POST /operator/keys/:kid/promotion', () => {
  it('200: signs with a key, and retires the one that has signed', async () => {
    await keys.add({ algorithm: 'EdDSA', kid: 'spring' })
    await keys.add({ algorithm: 'EdDSA', kid: 'summer' })
    await keys.age('1 hour')
    expect(await keys.promote('spring')).toEqual([200, { key: keyBody('spring', 'active') }])
    expect(await keys.promote('summer')).toEqual([200, { key: keyBody('summer', 'active') }])
    const changes = { state: 'active', retired: 'spring' }
    const object = { kind: 'signing-key', id: 'summer' }
    expect(await keys.lastChange()).toEqual(changeEntry(admin, { action: 'signing-keys.manage', object, changes }))
    expect(await keys.promote('spring')).toEqual([200, { key: keyBody('spring', 'active') }])
  })

  it('200: leaves the key that signs as it is', async () => {
    await keys.add({ algorithm: 'EdDSA', kid: 'spring' })
    await keys.age('1 hour')
    await keys.promote('spring')
    expect(await keys.promote('spring')).toEqual([200, { key: keyBody('spring', 'active') }])
  })

  it('403: only an admin promotes keys', async () => {
    expect(await keys.promote('spring', support)).toEqual(forbidden('signing-keys.manage', 'support'))
  })

  it('404: refuses an unknown key', async () => {
    expect(await keys.promote('spring')).toEqual(unknownKey)
  })

  it('409: refuses a key that others may not have read, and says how long to wait', async () => {
    await keys.add({ algorithm: 'EdDSA', kid: 'spring' })
    await keys.age('590 seconds')
    const headers = { ...admin.credentials, 'idempotency-key': 'early' }
    const answer = await test.app.inject({ method: 'POST', url: '/operator/keys/spring/promotion', headers })
    const early = keyConflict('Others may not have read the signing key yet, please retry')
    expect(statusAndBody(answer)).toEqual(early)
    expect(Number(answer.headers['retry-after'])).toBeLessThanOrEqual(10)
  })

  it('409: refuses a key that is over', async () => {
    await keys.add({ algorithm: 'EdDSA', kid: 'spring' })
    await keys.retire('spring')
    expect(await keys.promote('spring')).toEqual(keyConflict('The signing key is over, please add another one'))
  })

  it('409: refuses a key whose algorithm the settings do not accept', async () => {
    await keys.add({ algorithm: 'EdDSA', kid: 'spring' })
    await keys.age('1 hour')
    const settings = { ...OPERATOR_SETTINGS, AUTH_JWT_VALID_METHODS: 'HS256' }
    const strict = await openTestApp({ settings, database: test.database })
    const refused = keyConflict('AUTH_JWT_VALID_METHODS lacks the algorithm of the signing key')
    expect(await operate(strict, admin, 'POST /keys/spring/promotion')).toEqual(refused)
    await strict.close()
  })
})
