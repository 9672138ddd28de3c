import { randomUUID } from 'node:crypto'
import { anyId } from '@trestle/testing/any-text.ts'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { lastAudit, operatorAudit } from '../../../test/audit.ts'
import { statusAndBody } from '../../../test/bodies.ts'
import { actorOf, operatorHeaders, storedKey, testOperators } from '../../../test/operators.ts'
import { startPayments, type TestPayments } from '../../../test/payments-app.ts'
import { buildApp } from '../../app.ts'
import { insertAppInvitation } from '../../apps/app-repository.ts'
import type { PaymentsDeps } from '../../deps.ts'

let payments: TestPayments
beforeAll(async () => {
  // Requests wait for the locks of a transaction that the test holds open.
  payments = await startPayments({ operators: testOperators, lockTimeoutMs: 30_000 })
})
afterAll(() => payments.close())
afterEach(() => change(false))

type Registration = PaymentsDeps['config']['registration']

/** Registers an app at another process with its own registration setting. */
async function register(registration: Registration, payload: object = {}) {
  const { deps } = payments
  const other = await buildApp({ ...deps, config: { ...deps.config, registration } })
  const response = await other.inject({ method: 'POST', url: '/apps', payload })
  await other.close()
  return response
}
const change = (isClosed: boolean, key: string = randomUUID()) =>
  payments.app.inject({
    method: 'PUT',
    url: '/operator/registration',
    headers: { ...operatorHeaders('admin'), 'idempotency-key': key },
    payload: { isClosed },
  })
const show = () => payments.app.inject({ url: '/operator/registration', headers: operatorHeaders('viewer') })

const MADE = [201, { app: { id: anyId, key: expect.any(String) } }]
const CLOSED = [403, { code: 'REGISTRATION_CLOSED', message: 'Apps are made by the operator of this service alone' }]
const shown = (isClosed: boolean) => [200, { registration: { mode: 'open', isClosed } }]

/** Resolves when a statement waits for a lock. */
const waitForWaiting = () =>
  expect
    .poll(async () => {
      const { rows } = await sql`
        SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`.execute(
        payments.database.db,
      )
      return rows.length
    })
    .toBe(1)

describe('PUT /operator/registration', () => {
  it('200: closes registration in every process at once, and records who did it', async () => {
    expect(statusAndBody(await change(true, 'close'))).toEqual(shown(true))
    expect(statusAndBody(await register('open'))).toEqual(CLOSED)
    const { id, email } = actorOf('admin')
    expect(await lastAudit(payments)).toEqual(
      operatorAudit('operator.registration.change', {
        action: 'registration.change',
        actor: { id, email },
        key: 'desk-admin',
        role: 'admin',
        address: '127.0.0.1',
        object: { kind: 'registration', id: 'apps' },
        idempotencyKey: storedKey('close'),
        changes: { isClosed: true },
      }),
    )
  })

  it('200: opens again what it has closed', async () => {
    await change(true)
    expect(statusAndBody(await change(false))).toEqual(shown(false))
    expect(statusAndBody(await register('open'))).toEqual(MADE)
  })

  it('200: never opens what the settings close', async () => {
    expect(statusAndBody(await change(false))).toEqual(shown(false))
    expect(statusAndBody(await register('closed'))).toEqual(CLOSED)
  })

  it('200: a code of an invitation makes no app meanwhile, and stays good', async () => {
    const { code } = await insertAppInvitation(payments.database.db, { code: 'c'.repeat(43), note: null })
    expect(statusAndBody(await change(true))).toEqual(shown(true))
    expect(statusAndBody(await register('invited', { code }))).toEqual(CLOSED)
    expect(statusAndBody(await change(false))).toEqual(shown(false))
    expect(statusAndBody(await register('invited', { code }))).toEqual(MADE)
  })

  it('403: a registration that waits for the change makes no app', async () => {
    const waiting = await payments.owner.db.transaction().execute(async (trx) => {
      await sql`SELECT ${sql.table('change_registration')}(true)`.execute(trx)
      const registration = register('open')
      await waitForWaiting()
      return { registration }
    })
    expect(statusAndBody(await waiting.registration)).toEqual(CLOSED)
  })

  it('200: waits for the registrations that have begun, so none follows its answer', async () => {
    const waiting = await payments.owner.db.transaction().execute(async (trx) => {
      const args = sql`NULL, ${Buffer.alloc(32, 5)}, '0000', NULL`
      await sql`SELECT ${sql.table('register_app')}(${args})`.execute(trx)
      const closing = change(true)
      await waitForWaiting()
      return { closing }
    })
    expect(statusAndBody(await waiting.closing)).toEqual(shown(true))
  })

  it('200: a double click changes it once', async () => {
    const key = randomUUID()
    const answers = await Promise.all([1, 2, 3].map(() => change(true, key)))
    expect(answers.map(statusAndBody)).toEqual([1, 2, 3].map(() => shown(true)))
    const { rows } = await sql`
      SELECT FROM ${sql.table('audit')} WHERE payload ->> 'idempotencyKey' = ${storedKey(key)}`.execute(
      payments.owner.db,
    )
    expect(rows).toHaveLength(1)
  })
})

describe('GET /operator/registration', () => {
  it('200: shows what the settings say, and what operators have decided', async () => {
    expect(statusAndBody(await show())).toEqual(shown(false))
    await change(true)
    expect(statusAndBody(await show())).toEqual(shown(true))
  })
})
