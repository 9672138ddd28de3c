import { randomUUID } from 'node:crypto'
import { anyId } from '@trestle/testing/any-text.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { statusAndBody } from '../../../../test/bodies.ts'
import { actorOf, operatorHeaders, storedKey, testOperators } from '../../../../test/operators.ts'
import {
  createTestApp,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../../../test/payments-app.ts'

let payments: TestPayments
beforeAll(async () => {
  // A repeated request waits for the first request.
  payments = await startPayments({ operators: testOperators, lockTimeoutMs: 30_000 })
})
afterAll(() => payments.close())

const ADDRESS = { 'x-trestle-operator-address': '192.0.2.1' }
const revoke = (id: string, headers: Record<string, string>) =>
  payments.app.inject({ method: 'DELETE', url: `/operator/apps/${id}/keys`, headers })
const asAdmin = (key: string = randomUUID()) => ({ ...operatorHeaders('admin'), ...ADDRESS, 'idempotency-key': key })
const auditOf = (id: string) =>
  payments.owner.db
    .selectFrom('audit')
    .select(['merchant_id', 'identity_id', 'action', 'payload'])
    .where('action', 'like', 'operator.%')
    .execute()
    .then((rows) => rows.filter(({ payload }) => JSON.stringify(payload).includes(id)))
const isRevoked = async (app: TestApp) =>
  (await payments.app.inject({ url: '/me', headers: app.headers })).statusCode === 401

describe('DELETE /operator/apps/:appId/keys', () => {
  it('200: revokes every key of an app, and records who did it', async () => {
    const app = await createTestApp(payments)
    await payments.app.inject({ method: 'POST', url: '/me/keys', headers: app.headers })
    expect(statusAndBody(await revoke(app.id, asAdmin('first')))).toEqual([200, { revoked: 2 }])
    expect(await isRevoked(app)).toBe(true)
    const { id, email } = actorOf('admin')
    expect(await auditOf(app.id)).toEqual([
      {
        merchant_id: '0'.repeat(24),
        identity_id: null,
        action: 'operator.apps.revoke-keys',
        payload: {
          action: 'apps.revoke-keys',
          actor: { id, email },
          key: 'desk-admin',
          role: 'admin',
          address: '192.0.2.1',
          object: { kind: 'app', id: app.id },
          idempotencyKey: storedKey('first'),
          changes: { revoked: 2 },
        },
      },
    ])
  })

  it('200: a repeat gets the first answer, and is recorded once, also when both come at once', async () => {
    const app = await createTestApp(payments)
    const headers = asAdmin()
    const answers = await Promise.all(Array.from({ length: 6 }, () => revoke(app.id, headers)))
    const later = await revoke(app.id, headers)
    expect([...answers, later].map(statusAndBody)).toEqual(Array.from({ length: 7 }, () => [200, { revoked: 1 }]))
    expect(answers.filter(({ headers: sent }) => sent['idempotent-replayed'] === undefined)).toHaveLength(1)
    expect([later.headers['idempotent-replayed'], later.body]).toEqual(['true', '{"revoked":1}\n'])
    expect(await auditOf(app.id)).toHaveLength(1)
  })

  it('409: refuses a key that was used for another request, and changes nothing', async () => {
    const [first, second] = [await createTestApp(payments), await createTestApp(payments)]
    const headers = asAdmin()
    await revoke(first.id, headers)
    expect(statusAndBody(await revoke(second.id, headers))).toEqual([
      409,
      { code: 'IDEMPOTENCY_KEY_REUSED', message: 'The Idempotency-Key was used for another request' },
    ])
    expect(await isRevoked(second)).toBe(false)
  })

  it('200: a key counts for one operator', async () => {
    const app = await createTestApp(payments)
    const key = randomUUID()
    await revoke(app.id, asAdmin(key))
    const other = { ...testOperators, verifyToken: async () => ({ ...actorOf('admin'), id: randomUUID() }) }
    const { buildApp } = await import('../../../app.ts')
    const second = await buildApp({ ...payments.deps, operators: other })
    const url = `/operator/apps/${app.id}/keys`
    const answer = await second.inject({ method: 'DELETE', url, headers: asAdmin(key) })
    expect(statusAndBody(answer)).toEqual([200, { revoked: 0 }])
    await second.close()
  })

  it('404: an unknown app leaves the key unused', async () => {
    const headers = asAdmin()
    const missing = [404, { code: 'NOT_FOUND', message: 'There is no such resource' }]
    expect(statusAndBody(await revoke(UNKNOWN_ID, headers))).toEqual(missing)
    const app = await createTestApp(payments)
    expect(statusAndBody(await revoke(app.id, headers))).toEqual([200, { revoked: 1 }])
  })

  it('400: needs an Idempotency-Key, and a well-formed one', async () => {
    const app = await createTestApp(payments)
    const field = 'Idempotency-Key'
    expect(statusAndBody(await revoke(app.id, operatorHeaders('admin')))).toEqual([
      400,
      [{ field, message: 'is required', code: 'REQUIRED' }],
    ])
    expect(statusAndBody(await revoke(app.id, asAdmin('two words')))).toEqual([
      400,
      [{ field, message: 'must be 1 to 255 printable ASCII characters without spaces', code: 'FORMAT' }],
    ])
    expect(await isRevoked(app)).toBe(false)
  })

  it.each(['viewer', 'support'] as const)(
    '403: refuses the role %s, whatever the user of the key may',
    async (role) => {
      const app = await createTestApp(payments)
      const headers = { ...operatorHeaders(role, 'admin'), 'idempotency-key': randomUUID() }
      expect(statusAndBody(await revoke(app.id, headers))).toEqual([
        403,
        {
          code: 'OPERATOR_FORBIDDEN',
          message: 'The role of the operator may not do this',
          action: 'apps.revoke-keys',
          role,
        },
      ])
      expect([await isRevoked(app), app.id]).toEqual([false, anyId])
    },
  )
})
