import fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Violation, verifyLedger } from '../src/use-cases/verify-ledger.ts'
import { createTestApp, startPayments, type TestPayments } from './payments-app.ts'
import { runStorm } from './storm.ts'
import { alter, disarm, LEDGER_KEYS, type LedgerTable, readColumns, readRows, restore } from './tamper.ts'

// All of it: TAMPER_ROWS=1000 npx vitest run services/payments/test/tamper.test.ts
const rowCount = Number(process.env.TAMPER_ROWS ?? 60)
const seed = Number(process.env.TAMPER_SEED ?? Math.floor(Math.random() * 2 ** 31))

let payments: TestPayments
let intruder: pg.Client
beforeAll(async () => {
  payments = await startPayments({ lockTimeoutMs: 5_000 })
  intruder = new pg.Client({ connectionString: payments.url })
  await intruder.connect()
})
afterAll(async () => {
  await intruder.end()
  await payments.close()
})

const TABLES = Object.keys(LEDGER_KEYS) as LedgerTable[]
const choice = fc.record({
  merchant: fc.nat(),
  table: fc.constantFrom(...TABLES),
  row: fc.nat(),
  column: fc.nat(),
  byte: fc.nat(1e9),
})

async function violations(merchantId: string | undefined): Promise<Violation[]> {
  const found: Violation[] = []
  for await (const verified of verifyLedger(payments.database.db, { merchantId, kept: new Map() })) {
    found.push(...verified.violations)
  }
  return found
}

it(`finds one byte altered in any of ${rowCount} random rows, and names the row (seed ${seed})`, async () => {
  const app = await createTestApp(payments)
  const storm = { seed, operations: 300, workers: 8, merchants: 3, moments: 0, look: async () => {} }
  const { merchantIds } = await runStorm([payments], app, storm)
  await disarm(intruder)
  for (const { merchant, table, row: place, column: which, byte } of fc.sample(choice, { seed, numRuns: rowCount })) {
    const merchantId = merchantIds[merchant % merchantIds.length] ?? ''
    const rows = await readRows(intruder, table, merchantId)
    const columns = await readColumns(intruder, table)
    const [row, column] = [rows[place % rows.length], columns[which % columns.length]]
    if (!row || !column || !(await alter(intruder, row, column, byte))) throw new Error('nothing was altered')
    const first = (await violations(merchantId)).find(({ invariant }) => invariant === 16)
    const where = { table, id: row.linkId, column: column.name, byte }
    expect({ where, found: first !== undefined }).toEqual({ where, found: true })
    // A row whose id or merchant was altered is missed where it stood: at the next one, or at the end.
    const isMoved = table !== 'entries' && /^(merchant_)?id$/.test(column.name)
    if (!isMoved) expect({ where, id: first?.id }).toEqual({ where, id: row.linkId })
    await restore(intruder, rows)
  }
  expect(await violations(undefined)).toEqual([])
}, 1_800_000)
