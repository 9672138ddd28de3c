import { createNoopMeter, type Meter } from '@opentelemetry/api'
import { expect, it } from 'vitest'
import { openTestDatabase, UNKNOWN_ID } from '../../test/payments-app.ts'
import { observeAcquiring } from './acquirer-jobs.ts'

it('observeAcquiring: counts exceptions that wait for an operator, and jobs by state', async () => {
  const { database, close } = await openTestDatabase()
  const callbacks = new Map<string, (result: { observe(value: number, labels?: object): void }) => Promise<void>>()
  const meter: Meter = Object.assign(Object.create(createNoopMeter()), {
    createObservableGauge: (name: string) => ({ addCallback: (callback: never) => callbacks.set(name, callback) }),
  })
  observeAcquiring(meter, { db: database.db, schema: database.names.jobSchema })
  const row = { merchant_id: UNKNOWN_ID, created: new Date() }
  const attempt = { ...row, kind: 'charge', request: '{}' }
  const digit = (n: number) => String(n).repeat(24)
  await database.db
    .insertInto('attempts')
    .values([
      { ...attempt, id: digit(1), state: 'unknown' },
      { ...attempt, id: digit(2), state: 'sent' },
      { ...attempt, id: digit(3), state: 'unknown' },
    ])
    .execute()
  await database.db
    .insertInto('acquirer_exceptions')
    .values([
      { ...row, id: digit(1), payload: '{}', resolved: null },
      { ...row, id: digit(2), payload: '{}', resolved: new Date() },
    ])
    .execute()
  const seen: Record<string, unknown[]> = {}
  for (const [name, callback] of callbacks) {
    seen[name] = []
    await callback({ observe: (...measurement) => seen[name]?.push(measurement) })
  }
  expect(seen).toEqual({
    payments_attempts_unknown: [[2]],
    payments_acquirer_exceptions_open: [[1]],
    payments_acquirer_tasks: ['created', 'retry', 'active', 'dead'].map((state) => [0, { state }]),
  })
  await close()
})
