import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { customerPayment } from '../../test/customer-payment.ts'
import { capture } from '../../test/operations.ts'
import {
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
} from '../../test/payments-app.ts'
import { snapshotAccounts } from './snapshot-accounts.ts'

let payments: TestPayments
let app: TestApp
beforeAll(async () => {
  payments = await startPayments()
  app = await createTestApp(payments)
})
afterAll(() => payments.close())

describe('snapshotAccounts', () => {
  const sums = async (merchantId: string) =>
    (
      await payments.database.db
        .selectFrom('account_snapshots')
        .select(['account', 'currency', 'sum'])
        .where('merchant_id', '=', merchantId)
        .orderBy('date')
        .orderBy('account')
        .orderBy('currency')
        .execute()
    ).map(({ account, currency, sum }) => `${account} ${currency} ${sum}`)
  const snapshotOf = (merchantId: string, days: number) =>
    sql`SELECT ${sql.table('snapshot_accounts')}(${merchantId}, (now() AT TIME ZONE 'UTC')::date + ${days}::int)`.execute(
      payments.database.db,
    )

  it('sums the entries up to the end of a past day, starting from the day before', async () => {
    const { id } = await createTestMerchant(payments, app, { test: true, currency: 'EUR' })
    const transactionId = await customerPayment(payments, id, { amount: 1_000, currency: 'USD' })
    await capture(payments, app, transactionId, 400)
    await snapshotAccounts({ db: payments.database.db, logger: payments.deps.logger })
    expect(await sums(id)).toEqual([])
    await snapshotOf(id, 0)
    const first = await sums(id)
    expect(first.map((text) => text.replace(/ -?\d+$/, ''))).toEqual([
      'fee_income EUR',
      'fx_position EUR',
      'fx_position USD',
      'merchant EUR',
      'scheme_receivable USD',
    ])
    await snapshotOf(id, 0)
    expect(await sums(id)).toEqual(first)
    // New ids begin tomorrow, so entries that are posted now count for that day.
    await sql`
      UPDATE ${sql.table('merchant_balances')} SET last_id = ${sql.table('first_id')}(
        ((now() AT TIME ZONE 'UTC')::date + 1) AT TIME ZONE 'UTC') || right(last_id, 8)
      WHERE merchant_id = ${id}`.execute(payments.database.db)
    await capture(payments, app, transactionId, 600)
    await snapshotOf(id, 0)
    expect(await sums(id)).toEqual(first)
    await snapshotOf(id, 1)
    const { rows } = await sql<{ text: string }>`
      SELECT account || ' ' || currency || ' ' || sum(amount) AS text FROM ${sql.table('entries')}
      WHERE merchant_id = ${id} GROUP BY account, currency ORDER BY account, currency`.execute(payments.database.db)
    expect((await sums(id)).slice(first.length)).toEqual(rows.map(({ text }) => text))
  })
})
