import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Rate } from '../src/money/ecb-rates.ts'
import { verifyLedger } from '../src/use-cases/verify-ledger.ts'
import { replay } from './ledger-replay.ts'
import { createTestApp, secondProcess, startPayments, type TestPayments } from './payments-app.ts'
import { runStorm } from './storm.ts'

// The full storm: STORM_OPERATIONS=20000 STORM_WORKERS=50 STORM_MERCHANTS=20 npx vitest run services/payments/test/storm.long.test.ts
const setting = (name: string, usual: number) => Number(process.env[`STORM_${name}`] ?? usual)
const options = {
  seed: setting('SEED', Math.floor(Math.random() * 2 ** 31)),
  operations: setting('OPERATIONS', 300),
  workers: setting('WORKERS', 12),
  merchants: setting('MERCHANTS', 6),
  moments: setting('MOMENTS', 6),
}

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments({ lockTimeoutMs: 30_000 })
})
afterAll(() => payments.close())

async function violations(): Promise<object[]> {
  const found: object[] = []
  for await (const verified of verifyLedger(payments.database.db, { merchantId: undefined, heads: new Map() })) {
    found.push(...verified.violations)
  }
  return found
}

it(`keeps every invariant in a storm of operations, during and after it (seed ${options.seed})`, async () => {
  const app = await createTestApp(payments)
  const second = await secondProcess(payments)
  const found: object[] = []
  const { answers } = await runStorm([payments, second], app, {
    ...options,
    look: async () => {
      found.push(...(await violations()))
    },
  })
  await second.close()
  expect([found, await violations()]).toEqual([[], []])
  for (const kind of ['capture', 'refund', 'void', 'charge', 'repeat'])
    expect(answers.get(`${kind} 201`)).toBeGreaterThan(0)
  const { rows: rates } = await sql<Rate>`
    SELECT currency, date::text AS date, source, trim_scale(rate)::text AS rate FROM ${sql.table('fx_rates')}`.execute(
    payments.database.db,
  )
  expect(await replay(payments.database.db, rates)).toBeGreaterThan(options.operations / 10)
  const { rows } = await sql<{ deadlocks: bigint }>`
    SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`.execute(payments.database.db)
  expect(rows).toEqual([{ deadlocks: 0n }])
  process.stdout.write(`storm of seed ${options.seed}: ${JSON.stringify(Object.fromEntries([...answers].sort()))}\n`)
}, 1_800_000)
