import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { customerPayment } from '../../test/customer-payment.ts'
import { capture } from '../../test/operations.ts'
import {
  createTestApp,
  createTestMerchant,
  operationsCall,
  startPayments,
  type TestApp,
  type TestPayments,
  turnOffTriggers,
} from '../../test/payments-app.ts'
import { type Violation, verifyLedger } from './verify-ledger.ts'

let payments: TestPayments
let member: TestApp
beforeAll(async () => {
  payments = await startPayments()
  member = await createTestApp(payments)
})
afterAll(() => payments.close())

const BROKEN = 'does not follow from the rows before it: it was altered, or one was put in or taken out'

async function violations(merchantId: string): Promise<Violation[]> {
  const found: Violation[] = []
  for await (const verified of verifyLedger(payments.database.db, { merchantId, heads: new Map() })) {
    found.push(...verified.violations)
  }
  return found
}

async function createPaid(): Promise<{ id: string; transactionId: string }> {
  const { id } = await createTestMerchant(payments, member, { test: true, currency: 'EUR' })
  return { id, transactionId: await customerPayment(payments, id, { currency: 'EUR', amount: 10_000 }) }
}

it('a session in another encoding breaks no chain of hashes', async () => {
  const { id, transactionId } = await createPaid()
  await payments.service.db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ mac: string }>`
      SELECT encode(mac, 'hex') AS mac FROM ${sql.table('app_keys')} WHERE app_id = ${member.id}`.execute(trx)
    const item = { keyMac: rows[0]?.mac, transactionId, kind: 'capture', amount: 100, currency: 'EUR' }
    const operations = JSON.stringify([{ ...item, reference: 'é' }])
    const call = await operationsCall(payments, transactionId, sql`${operations}, 0, 7`)
    await sql`SET LOCAL client_encoding = 'LATIN1'`.execute(trx)
    const { rows: done } = await sql<{ verdict: string }>`SELECT verdict FROM ${call}`.execute(trx)
    expect(done).toEqual([{ verdict: 'done' }])
    await sql`
      SELECT FROM ${sql.table('update_merchant')}(
        ROW(decode(${rows[0]?.mac}, 'hex'), NULL, NULL, NULL, NULL, NULL)::${sql.table('caller')}, ${id}, '{"name":"é"}', '{}'
      )`.execute(trx)
  })
  expect(await violations(id)).toEqual([])
})

it('names each change of a chain, not only the first', async () => {
  const { id, transactionId } = await createPaid()
  for (const amount of [100, 200, 300]) await capture(payments, member, transactionId, amount)
  const { db } = payments.database
  const rows = await db.selectFrom('trail_entries').select('id').where('merchant_id', '=', id).orderBy('id').execute()
  const [first = '', , last = ''] = rows.map((row) => row.id)
  await db.transaction().execute(async (trx) => {
    await turnOffTriggers(trx)
    await trx.updateTable('trail_entries').set({ reference: 'forged' }).where('id', 'in', [first, last]).execute()
  })
  const violation = { merchantId: id, invariant: 16, table: 'trail_entries', message: BROKEN }
  expect(await violations(id)).toEqual([
    { ...violation, id: first },
    { ...violation, id: last },
  ])
})
