import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openTestApp, type TestApp } from '../../../test/auth-app.ts'
import { anyId, anyTime, errorBody, statusAndBody } from '../../../test/bodies.ts'
import { keyBody, keyConflict, operateKeys, unknownKey } from '../../../test/operated-keys.ts'
import {
  changeEntry,
  createOperator,
  forbidden,
  OPERATOR_SETTINGS,
  type SignedInOperator,
} from '../../../test/operators.ts'
import { runWorkAlone } from '../../audit/audit-log.ts'
import { addSigningKey } from '../../use-cases/manage-signing-keys.ts'

let test: TestApp
let viewer: SignedInOperator
let support: SignedInOperator
let admin: SignedInOperator
let keys: ReturnType<typeof operateKeys>
beforeAll(async () => {
  test = await openTestApp({ settings: { ...OPERATOR_SETTINGS, AUTH_JWT_KEY_ID: 'secret' } })
  viewer = await createOperator(test, 'viewer')
  support = await createOperator(test, 'support')
  admin = await createOperator(test, 'admin')
  keys = operateKeys(test, admin)
})
beforeEach(() => test.deps.db.deleteFrom('signing_keys').execute())
afterAll(() => test.close())

const list = async () =>
  statusAndBody(await test.app.inject({ url: '/operator/keys', headers: { ...viewer.credentials } }))
const base64url = (characters: number) => expect.stringMatching(new RegExp(`^[\\w-]{${characters}}$`))
/** The entry of the audit log for a change of the key `spring` by the admin. */
const entryOf = (changes: object) =>
  changeEntry(admin, { action: 'signing-keys.manage', object: { kind: 'signing-key', id: 'spring' }, changes })

describe('GET /operator/keys', () => {
  it('200: shows keys of every state, the newest first, without their private halves', async () => {
    await keys.add({ algorithm: 'EdDSA', kid: 'first' })
    await keys.age('1 hour')
    await keys.promote('first')
    await keys.add({ algorithm: 'EdDSA', kid: 'second' })
    await keys.age('1 hour')
    await keys.promote('second')
    await keys.add({ algorithm: 'EdDSA', kid: 'third' })
    const shown = [keyBody('third', 'next'), keyBody('second', 'active'), keyBody('first', 'retired')]
    expect(await list()).toEqual([200, { keys: shown }])
    await keys.age('1 day')
    expect(await list()).toEqual([200, { keys: [...shown.slice(0, 2), keyBody('first', 'over')] }])
  })

  it('200: shows nothing of a symmetric key', async () => {
    await addSigningKey(test.deps, { alg: 'HS256', kid: 'shared' }, runWorkAlone)
    const shared = { kid: 'shared', algorithm: 'HS256', state: 'next', created_at: anyTime, public: null }
    expect(await list()).toEqual([200, { keys: [shared] }])
  })
})

describe('POST /operator/keys', () => {
  it('201: adds a key that waits, and records it', async () => {
    expect(await keys.add({ algorithm: 'EdDSA', kid: 'spring' })).toEqual([201, { key: keyBody('spring', 'next') }])
    expect(await list()).toEqual([200, { keys: [keyBody('spring', 'next')] }])
    expect(await keys.lastChange()).toEqual(entryOf({ algorithm: 'EdDSA', state: 'next' }))
  })

  it.each([
    ['ES256', { kty: 'EC', crv: 'P-256', x: base64url(43), y: base64url(43) }],
    ['RS256', { kty: 'RSA', n: base64url(342), e: 'AQAB' }],
    ['EdDSA', { kty: 'OKP', crv: 'Ed25519', x: base64url(43) }],
  ])('201: adds a key of %s under an id of its own', async (algorithm, material) => {
    const jwk = { ...material, kid: anyId, alg: algorithm, use: 'sig', key_ops: ['verify'] }
    const key = { kid: anyId, algorithm, state: 'next', created_at: anyTime, public: jwk }
    expect(await keys.add({ algorithm })).toEqual([201, { key }])
  })

  it('201: adds one key for two requests with one Idempotency-Key', async () => {
    const request = {
      method: 'POST' as const,
      url: '/operator/keys',
      headers: { ...admin.credentials, 'idempotency-key': 'twice' },
      payload: { algorithm: 'EdDSA' },
    }
    const answers = await Promise.all([test.app.inject(request), test.app.inject(request)])
    const shown = answers.map(({ statusCode, body }) => `${statusCode} ${body}`)
    expect(new Set(shown)).toEqual(new Set([`201 ${answers[0].body}`]))
    const kids = await test.deps.db.selectFrom('signing_keys').select('kid').execute()
    expect(kids).toHaveLength(1)
  })

  it('400: refuses an algorithm with a shared key', async () => {
    const text = 'algorithm: must be one of ES256, RS256, EdDSA'
    expect(await keys.add({ algorithm: 'HS256' })).toEqual([400, errorBody(400, 'validation_failed', text)])
  })

  it('400: refuses an id with other characters', async () => {
    const text = 'kid: is not valid'
    const refused = [400, errorBody(400, 'validation_failed', text)]
    expect(await keys.add({ algorithm: 'EdDSA', kid: 'two words' })).toEqual(refused)
  })

  it('403: only an admin adds keys', async () => {
    expect(await keys.add({ algorithm: 'EdDSA' }, support)).toEqual(forbidden('signing-keys.manage', 'support'))
  })

  it.each(['spring', 'secret'])('409: refuses the id %s, which a key has or had', async (kid) => {
    await keys.add({ algorithm: 'EdDSA', kid: 'spring' })
    await keys.retire('spring')
    const taken = keyConflict('A signing key with this kid exists or has existed')
    expect(await keys.add({ algorithm: 'EdDSA', kid })).toEqual(taken)
  })
})

describe('DELETE /operator/keys/:kid', () => {
  it('200: retires a key that has never signed, and records it', async () => {
    await keys.add({ algorithm: 'EdDSA', kid: 'spring' })
    expect(await keys.retire('spring')).toEqual([200, { key: keyBody('spring', 'over') }])
    expect(await keys.lastChange()).toEqual(entryOf({ state: 'over' }))
  })

  it('200: leaves a key that is over as it is', async () => {
    await keys.add({ algorithm: 'EdDSA', kid: 'spring' })
    await keys.retire('spring')
    expect(await keys.retire('spring')).toEqual([200, { key: keyBody('spring', 'over') }])
  })

  it('403: only an admin retires keys', async () => {
    expect(await keys.retire('spring', support)).toEqual(forbidden('signing-keys.manage', 'support'))
  })

  it('404: refuses an unknown key', async () => {
    expect(await keys.retire('spring')).toEqual(unknownKey)
  })

  it('409: refuses the key that signs', async () => {
    await keys.add({ algorithm: 'EdDSA', kid: 'spring' })
    await keys.age('1 hour')
    await keys.promote('spring')
    expect(await keys.retire('spring')).toEqual(
      keyConflict('The signing key signs, or has signed tokens that may be good'),
    )
    expect(await list()).toEqual([200, { keys: [keyBody('spring', 'active')] }])
  })

  it('409: refuses a key while its tokens may be good', async () => {
    for (const kid of ['spring', 'summer']) {
      await keys.add({ algorithm: 'EdDSA', kid })
      await keys.age('1 hour')
      await keys.promote(kid)
    }
    expect(await keys.retire('spring')).toEqual(
      keyConflict('The signing key signs, or has signed tokens that may be good'),
    )
    await keys.age('1 day')
    expect(await keys.retire('spring')).toEqual([200, { key: keyBody('spring', 'over') }])
  })
})
