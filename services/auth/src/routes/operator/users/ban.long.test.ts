import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestApp, type TestApp } from '../../../../test/auth-app.ts'
import { anyTime, errorBody, grantErrorBody, signedUpBody, statusAndBody } from '../../../../test/bodies.ts'
import {
  changeEntry,
  changesOf,
  createOperator,
  OPERATOR_SETTINGS,
  type SignedInOperator,
} from '../../../../test/operators.ts'
import { createSignedUp, type SignedUp } from '../../../../test/signed-up.ts'

let test: TestApp
let support: SignedInOperator
let admin: SignedInOperator
beforeAll(async () => {
  test = await openTestApp({ settings: { ...OPERATOR_SETTINGS, AUTH_JWT_ADMIN_ROLES: 'service_role,staff' } })
  support = await createOperator(test, 'support')
  admin = await createOperator(test, 'admin')
})
afterAll(() => test.close())

const ADDRESS = { 'x-trestle-operator-address': '192.0.2.7' }
const by = ({ credentials }: SignedInOperator, key: string = randomUUID()) => ({
  ...credentials,
  ...ADDRESS,
  'idempotency-key': key,
})
const ban = (id: string, headers: Record<string, string>, payload: object = { duration: '24h' }, { app } = test) =>
  app.inject({ method: 'PUT', url: `/operator/users/${id}/ban`, headers, payload })
const unban = (id: string, headers: Record<string, string>) =>
  test.app.inject({ method: 'DELETE', url: `/operator/users/${id}/ban`, headers })
const banned = (user: SignedUp) => ({ user: signedUpBody(user, { banned_until: anyTime }) })
/** The entry of the audit log for a ban by the operator with the role `support`. */
const entryOf = ({ user: { id } }: SignedUp, duration: string, members: object = {}) => {
  const change = { action: 'users.ban', object: { kind: 'user', id }, changes: { duration } }
  return changeEntry(support, change, { address: '192.0.2.7', ...members })
}
const FORBIDDEN = (role: string) =>
  errorBody(403, 'operator_forbidden', 'The role of the operator may not do this', { action: 'users.ban', role })

describe('PUT /operator/users/:userId/ban', () => {
  it('200: bans a user, and records who did it', async () => {
    const user = await createSignedUp(test.deps)
    expect(statusAndBody(await ban(user.user.id, by(support, 'first')))).toEqual([200, banned(user)])
    const { email, password } = user
    const refused = await test.post('/token?grant_type=password', { email, password })
    expect(statusAndBody(refused)).toEqual([400, grantErrorBody('invalid_grant', 'user_banned', 'User is banned')])
    expect(await changesOf(test, user.user.id)).toEqual([entryOf(user, '24h', { idempotencyKey: 'first' })])
  })

  it('200: a repeat gets the first answer, and is recorded once, also when all come at once', async () => {
    const user = await createSignedUp(test.deps)
    const headers = by(support)
    const answers = await Promise.all(Array.from({ length: 6 }, () => ban(user.user.id, headers)))
    const later = await ban(user.user.id, headers)
    const [first] = answers
    expect([...answers, later].map(statusAndBody)).toEqual(Array.from({ length: 7 }, () => [200, banned(user)]))
    expect([...answers, later].map(({ body }) => body)).toEqual(Array.from({ length: 7 }, () => first?.body))
    expect(answers.filter(({ headers: sent }) => sent['idempotent-replayed'] === undefined)).toHaveLength(1)
    expect(later.headers['idempotent-replayed']).toBe('true')
    expect(await changesOf(test, user.user.id)).toHaveLength(1)
  })

  it('200: a repeat changes nothing, even if the change was taken back meanwhile', async () => {
    const signedUp = await createSignedUp(test.deps)
    const { id } = signedUp.user
    const headers = by(support)
    await ban(id, headers)
    await unban(id, by(support))
    expect(statusAndBody(await ban(id, headers))).toEqual([200, banned(signedUp)])
    const row = test.deps.db.selectFrom('users').select('banned_until').where('id', '=', id)
    expect(await row.executeTakeFirst()).toEqual({ banned_until: null })
  })

  it('409: refuses a key that was used for another request, and changes nothing', async () => {
    const [first, second] = [await createSignedUp(test.deps), await createSignedUp(test.deps)]
    const headers = by(support)
    await ban(first.user.id, headers)
    const reused = errorBody(409, 'idempotency_key_reused', 'The Idempotency-Key was used for another request')
    expect(statusAndBody(await ban(second.user.id, headers))).toEqual([409, reused])
    expect(statusAndBody(await ban(first.user.id, headers, { duration: '48h' }))).toEqual([409, reused])
    expect(statusAndBody(await unban(first.user.id, headers))).toEqual([409, reused])
    expect(await changesOf(test, second.user.id)).toEqual([])
  })

  it('200: a key counts for one operator', async () => {
    const [first, second] = [await createSignedUp(test.deps), await createSignedUp(test.deps)]
    const key = randomUUID()
    await ban(first.user.id, by(support, key))
    expect(statusAndBody(await ban(second.user.id, by(admin, key)))).toEqual([200, banned(second)])
  })

  it('409: refuses while another transaction holds the user, and the key may be used again', async () => {
    const user = await createSignedUp(test.deps)
    const headers = by(support)
    const locking = await test.deps.db.startTransaction().execute()
    await locking.selectFrom('users').select('id').where('id', '=', user.user.id).forUpdate().execute()
    const refused = await ban(user.user.id, headers)
    await locking.rollback().execute()
    const running = errorBody(409, 'conflict', 'Another request is changing this, please retry')
    expect([...statusAndBody(refused), refused.headers['retry-after']]).toEqual([409, running, '1'])
    expect(statusAndBody(await ban(user.user.id, headers))).toEqual([200, banned(user)])
  })

  it('200: leaves connections to those who sign in while one operator sends many changes of a user', async () => {
    const { user } = await createSignedUp(test.deps)
    const { email, password } = await createSignedUp(test.deps)
    const other = await createSignedUp(test.deps)
    const locking = await test.deps.db.startTransaction().execute()
    await locking.selectFrom('users').select('id').where('id', '=', user.id).forUpdate().execute()
    const bans = Array.from({ length: 30 }, () => ban(user.id, by(support)))
    const signedIn = await test.post('/token?grant_type=password', { email, password })
    const banOfAdmin = await ban(other.user.id, by(admin))
    await locking.rollback().execute()
    expect((await Promise.all(bans)).map(({ statusCode }) => statusCode)).toEqual(Array(30).fill(200))
    expect([signedIn.statusCode, statusAndBody(banOfAdmin)]).toEqual([200, [200, banned(other)]])
  })

  it('400: needs an Idempotency-Key, and a well-formed one', async () => {
    const { user } = await createSignedUp(test.deps)
    const missing = errorBody(400, 'idempotency_key_required', 'A change of an operator needs an Idempotency-Key')
    expect(statusAndBody(await ban(user.id, { ...support.credentials }))).toEqual([400, missing])
    const text = 'An Idempotency-Key must be 1 to 255 printable ASCII characters without spaces'
    for (const key of ['two words', 'é', 'k'.repeat(256)])
      expect(statusAndBody(await ban(user.id, by(support, key)))).toEqual([
        400,
        errorBody(400, 'validation_failed', text),
      ])
    expect(await changesOf(test, user.id)).toEqual([])
  })

  it.each(['', '0', 'none', '-1h', '24', '1d'])('400: refuses a ban for %j', async (duration) => {
    const { user } = await createSignedUp(test.deps)
    const text = 'duration: must be a duration above 0, such as 24h'
    const expected = [400, errorBody(400, 'validation_failed', text)]
    expect(statusAndBody(await ban(user.id, by(support), { duration }))).toEqual(expected)
  })

  it('404: refuses an unknown, pending or deleted user and an id that is no UUID, and leaves the key unused', async () => {
    const pending = await createSignedUp(test.deps, { staged_at: new Date() })
    const deleted = await createSignedUp(test.deps, { deleted_at: new Date() })
    const headers = by(support)
    const unknown = [404, errorBody(404, 'user_not_found', 'User not found')]
    for (const id of [randomUUID(), pending.user.id, deleted.user.id])
      expect(statusAndBody(await ban(id, headers))).toEqual(unknown)
    const malformed = errorBody(404, 'validation_failed', 'user_id must be an UUID')
    expect(statusAndBody(await ban('x', headers))).toEqual([404, malformed])
    const user = await createSignedUp(test.deps)
    expect(statusAndBody(await ban(user.user.id, headers))).toEqual([200, banned(user)])
  })

  it.each([
    ['an operator', { console_role: 'viewer' }],
    ['an admin of the API', { role: 'staff' }],
  ])('403: only an operator with the role admin acts on %s', async (_who, changes) => {
    const user = await createSignedUp(test.deps, changes)
    expect(statusAndBody(await ban(user.user.id, by(support)))).toEqual([403, FORBIDDEN('support')])
    expect(await changesOf(test, user.user.id)).toEqual([])
    expect((await ban(user.user.id, by(admin))).statusCode).toBe(200)
  })

  it('403: the lower role of key and user counts for protected users too', async () => {
    const { user } = await createSignedUp(test.deps, { console_role: 'viewer' })
    const byKey = { ...by(admin), 'x-trestle-operator-key': support.credentials['x-trestle-operator-key'] ?? '' }
    expect(statusAndBody(await ban(user.id, byKey))).toEqual([403, FORBIDDEN('support')])
  })
})

describe('DELETE /operator/users/:userId/ban', () => {
  it('200: ends a ban', async () => {
    const user = await createSignedUp(test.deps)
    await ban(user.user.id, by(support))
    expect(statusAndBody(await unban(user.user.id, by(support)))).toEqual([200, { user: signedUpBody(user) }])
    expect(await changesOf(test, user.user.id)).toEqual([entryOf(user, '24h'), entryOf(user, 'none')])
  })

  it('404: refuses an unknown user', async () => {
    const unknown = [404, errorBody(404, 'user_not_found', 'User not found')]
    expect(statusAndBody(await unban(randomUUID(), by(support)))).toEqual(unknown)
  })
})
