import { createNoopMeter, type Meter } from '@opentelemetry/api'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { operatorDeps, startPayments, type TestPayments } from '../../test/payments-app.ts'
import { commandRunner } from '../../test/run-command.ts'
import { ledgerCommand } from '../commands/ledger.ts'
import { insertVerification, observeLedger } from './ledger-repository.ts'

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments()
})
afterAll(() => payments.close())

it('gauges report the result and time of the last verification, and ignore rows from the future', async () => {
  const values = new Map<string, number>()
  let observe: (() => void | Promise<void>) | undefined
  const meter: Meter = {
    ...createNoopMeter(),
    createObservableGauge: (name) => ({ name, addCallback: () => {}, removeCallback: () => {} }),
    addBatchObservableCallback: (callback) => {
      observe = () => callback({ observe: (gauge, value) => values.set(Reflect.get(gauge, 'name'), value) })
    },
  }
  const look = async () => {
    await observe?.()
    return [values.get('payments_ledger_imbalance'), values.get('payments_ledger_verified_timestamp_seconds')]
  }
  const { db } = payments.database
  observeLedger(meter, db)
  expect(await look()).toEqual([0, 0])
  const before = Date.now() / 1_000
  await insertVerification(db, { merchants: 1, links: 10, violations: 3 })
  expect(await look()).toEqual([3, expect.toSatisfy((seconds: number) => Math.abs(seconds - before) < 60)])
  const { run } = commandRunner([ledgerCommand], () => operatorDeps(payments))
  await run('ledger', 'verify', '--merchant', 'f'.repeat(24)).catch(() => {})
  expect((await look())[0]).toBe(3)
  await run('ledger', 'verify')
  expect((await look())[0]).toBe(0)
  await insertVerification(db, { merchants: 1, links: 10, violations: 2 })
  const payload = JSON.stringify({ merchants: 1, links: 10, violations: 0 })
  const [now, later] = [new Date(), new Date('2100-01-01T00:00:00Z')]
  const row = { merchant_id: '0'.repeat(24), identity_id: null, action: 'ledger.verified', payload }
  await db
    .insertInto('audit')
    .values([
      { ...row, id: 'f'.repeat(24), created: now },
      { ...row, id: `${Math.floor(now.getTime() / 1_000).toString(16)}ffffffffffffffff`, created: later },
    ])
    .execute()
  expect((await look())[0]).toBe(2)
})
