import fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callAddException } from '../src/acquirers/exception-repository.ts'
import { tableClasses } from '../src/placement/distributed-rows.ts'
import { type Violation, verifyLedger } from '../src/use-cases/verify-ledger.ts'
import { createLiveMerchant } from './live-merchant.ts'
import { createTestApp, startPayments, type TestApp, type TestPayments } from './payments-app.ts'
import { isProven, PROVEN_TABLES, readLeftOut } from './proof.ts'
import { runStorm } from './storm.ts'
import { createStubAcquirer, type StubAcquirer } from './stub-acquirer.ts'
import { alter, disarm, readColumns, readRows, remove, restore } from './tamper.ts'

// The full test: TAMPER_ROWS=1000 npx vitest run services/payments/test/tamper.long.test.ts
const rowCount = Number(process.env.TAMPER_ROWS ?? 3)
const seed = Number(process.env.TAMPER_SEED ?? Math.floor(Math.random() * 2 ** 31))

let payments: TestPayments
let intruder: pg.Client
let merchantIds: readonly string[]
/** The merchants of tables that only live ones have rows in: operations of an acquirer, and exceptions that hold back money. */
let special: Readonly<Record<string, string>>
beforeAll(async () => {
  const north = createStubAcquirer()
  payments = await startPayments({ lockTimeoutMs: 30_000, acquirers: new Map([['north', north]]) })
  intruder = new pg.Client({ connectionString: payments.url })
  await intruder.connect()
  const app = await createTestApp(payments)
  const storm = { seed, operations: 90, workers: 6, merchants: 2, moments: 0, look: async () => {} }
  merchantIds = (await runStorm([payments], app, storm)).merchantIds
  for (const id of merchantIds) await closeOff(id, app.headers)
  special = {
    acquirer_operations: await fillLiveMerchant(app, north),
    acquirer_exceptions: await holdBack(app, north),
  }
  await disarm(intruder, PROVEN_TABLES)
})
afterAll(async () => {
  await intruder.end()
  await payments.close()
})

/** Gives the merchant a saved card, an open dispute and a payout, so that each table has rows to alter. */
async function closeOff(merchantId: string, headers: object): Promise<void> {
  const post = async (url: string, payload: object) => {
    const response = await payments.app.inject({ method: 'POST', url, payload, headers: { ...headers } })
    expect(response.statusCode).toBe(201)
    return response.json()
  }
  const list = await payments.app.inject({
    url: `/merchants/${merchantId}/transactions?limit=1`,
    headers: { ...headers },
  })
  const [{ id: source }] = list.json()
  await post(`/merchants/${merchantId}/cards`, { transactionId: source, notes: 'kept' })
  // More than refunds and disputes of the storm can take, so that there is something to pay out.
  const charge = { transactionId: source, currency: 'EUR', amount: 1_000_000 }
  const { transaction } = await post(`/merchants/${merchantId}/transactions`, charge)
  await post(`/transactions/${transaction.id}/captures`, { amount: charge.amount })
  await post(`/test/transactions/${transaction.id}/disputes`, { amount: 10_000 })
  await post(`/test/merchants/${merchantId}/payouts`, {})
}

async function fillLiveMerchant(app: TestApp, north: StubAcquirer): Promise<string> {
  const merchant = await createLiveMerchant(payments, app, { north })
  const transactionId = await merchant.charge(10_000)
  const [accepted, rejected] = [
    await merchant.book('capture', transactionId, 4_000),
    await merchant.book('capture', transactionId, 1_000),
  ]
  await merchant.book('void', transactionId, 500)
  await merchant.answer(accepted, { verdict: 'accepted' })
  await merchant.answer(rejected, { verdict: 'rejected', reason: 'closed' })
  return merchant.id
}

/** A live merchant whose exceptions hold back money. One that holds back none is not proven. */
async function holdBack(app: TestApp, north: StubAcquirer): Promise<string> {
  const { id: merchantId } = await createLiveMerchant(payments, app, { north })
  for (const reference of ['event north:D1', 'event north:D2']) {
    const exception = { merchantId, reference, payload: { acquirer: 'north', reference }, disputed: { amount: 100 } }
    await callAddException(payments.service.db, exception)
  }
  return merchantId
}

const merchantOf = (table: string, merchant: number) =>
  special[table] ?? merchantIds[merchant % merchantIds.length] ?? ''

const choice = fc.record({ merchant: fc.nat(), row: fc.nat(), column: fc.nat(), byte: fc.nat(1e9) })

async function violations(merchantId: string | undefined): Promise<Violation[]> {
  const found: Violation[] = []
  for await (const verified of verifyLedger(payments.database.db, { merchantId, heads: new Map() })) {
    found.push(...verified.violations)
  }
  return found
}

it('finds nothing before a change', async () => {
  expect(await violations(undefined)).toEqual([])
})

describe.each(PROVEN_TABLES)('a change by hand in %s', (table) => {
  it(`finds one altered byte in any of ${rowCount} random rows (seed ${seed})`, async () => {
    const columns = (await readColumns(intruder, table)).filter(({ name }) => isProven(table, name))
    for (const { merchant, row: place, column: which, byte } of fc.sample(choice, { seed, numRuns: rowCount })) {
      const merchantId = merchantOf(table, merchant)
      const rows = await readRows(intruder, table, merchantId)
      const [row, column] = [rows[place % rows.length], columns[which % columns.length]]
      if (!row || !column || !(await alter(intruder, row, column, byte))) throw new Error('nothing was altered')
      const where = { table, id: row.id, column: column.name, byte }
      expect({ where, found: (await violations(merchantId)).length > 0 }).toEqual({ where, found: true })
      await restore(intruder, table)
    }
  }, 1_800_000)

  it('reports a violation for each removed row', async () => {
    const numRuns = Math.ceil(rowCount / 3)
    for (const { merchant, row: place } of fc.sample(choice, { seed, numRuns })) {
      const merchantId = merchantOf(table, merchant)
      const rows = await readRows(intruder, table, merchantId)
      const row = rows[place % rows.length]
      if (!row) throw new Error('there are no rows')
      await remove(intruder, row)
      const where = { table, id: row.id }
      expect({ where, found: (await violations(merchantId)).length > 0 }).toEqual({ where, found: true })
      await restore(intruder, table)
    }
  }, 1_800_000)
})

it('finds no violation once every altered row is as before', async () => {
  expect(await violations(undefined)).toEqual([])
})

describe('the columns of the ledger', () => {
  it('are all covered, except those for which the README of the ledger says why not', async () => {
    const leftOut = readLeftOut()
    const unclassified: string[] = []
    const twice: string[] = []
    for (const table of Object.keys(tableClasses)) {
      const columns = await readColumns(intruder, table)
      if (table !== 'merchants' && !columns.some(({ name }) => name === 'merchant_id')) continue
      for (const { name } of columns) {
        const isLeftOut = leftOut.includes(`${table}.*`) || leftOut.includes(`${table}.${name}`)
        if (isLeftOut === isProven(table, name)) (isLeftOut ? twice : unclassified).push(`${table}.${name}`)
      }
    }
    expect({ unclassified, twice }).toEqual({ unclassified: [], twice: [] })
  })
})
