import { createNoopMeter, type Meter, type ObservableResult } from '@opentelemetry/api'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { operatorDeps, startPayments, type TestPayments } from '../../test/payments-app.ts'
import { commandRunner } from '../../test/run-command.ts'
import { ledgerCommand } from '../commands/ledger.ts'
import { insertVerification, observeLedger } from './verification.ts'

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments()
})
afterAll(() => payments.close())

it('payments_ledger_imbalance tells what the last verification has found, once there was one', async () => {
  const values: number[] = []
  let observe: ((result: ObservableResult) => void | Promise<void>) | undefined
  const meter: Meter = {
    ...createNoopMeter(),
    createObservableGauge: () => ({
      addCallback: (callback) => {
        observe = callback
      },
      removeCallback: () => {},
    }),
  }
  const look = async () => {
    values.length = 0
    await observe?.({ observe: (value) => values.push(value) })
    return values
  }
  const { db } = payments.database
  observeLedger(meter, db)
  expect(await look()).toEqual([])
  await insertVerification(db, { merchants: 1, links: 10, violations: 3 })
  expect(await look()).toEqual([3])
  const { run } = commandRunner([ledgerCommand], () => operatorDeps(payments))
  await run('ledger', 'verify', '--merchant', 'f'.repeat(24)).catch(() => {})
  expect(await look()).toEqual([3])
  await run('ledger', 'verify')
  expect(await look()).toEqual([0])
})
