import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { customerPayment } from '../../test/customer-payment.ts'
import { listViolations } from '../../test/live-merchant.ts'
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
  const snapshot = () => snapshotAccounts({ db: payments.service.db, logger: payments.deps.logger })
  const violations = (merchantId: string) => listViolations(payments.owner.db, merchantId)

  /** Runs a function as if it happened some days ago, by changing the ids that the merchant generates. */
  async function daysAgo<T>(days: number, happen: () => Promise<T>): Promise<T> {
    const { db } = payments.owner
    const next = (body: string) =>
      sql`CREATE OR REPLACE FUNCTION ${sql.table('next_number')}(p_last_id text) RETURNS bigint LANGUAGE sql AS $$
        SELECT greatest(${sql.raw(body)}, ${sql.table('id_number')}(p_last_id) + 1) $$`.execute(db)
    const number = (offset: string) =>
      `floor(extract(epoch FROM clock_timestamp() ${offset}) * 1000)::bigint * 1048576 + nextval('payments.id_counter')`
    await next(number(`- interval '${days} days'`))
    try {
      return await happen()
    } finally {
      await next(number(''))
    }
  }

  /** Creates a merchant that is three days old, with a capture from that day. */
  async function oldMerchant(changes: object = { test: true }) {
    return daysAgo(3, async () => {
      const { id } = await createTestMerchant(payments, app, { currency: 'EUR', ...changes })
      await sql`
        UPDATE ${sql.table('merchant_balances')} SET last_id = ${sql.table('first_id')}(now() - interval '3 days') || right(last_id, 8)
        WHERE merchant_id = ${id}`.execute(payments.owner.db)
      const transactionId = await customerPayment(payments, id, { amount: 1_000, currency: 'USD' })
      await sql`
        UPDATE ${sql.table('merchant_balances')} SET last_id = ${sql.table('first_id')}(now() - interval '3 days') || right(last_id, 8)
        WHERE merchant_id = ${id}`.execute(payments.owner.db)
      await capture(payments, app, transactionId, 400)
      return { id, transactionId }
    })
  }

  it('sums the entries up to the end of the last day that is over, starting from the day before', async () => {
    const { id, transactionId } = await oldMerchant()
    await snapshot()
    // The day of the capture gets no snapshot yet. Without a later entry, a new entry could still get an id of that day.
    expect(await sums(id)).toEqual([])
    await daysAgo(2, () => capture(payments, app, transactionId, 100))
    await snapshot()
    const first = await sums(id)
    expect(first.map((text) => text.replace(/ -?\d+$/, ''))).toEqual([
      'fee_income EUR',
      'fx_position EUR',
      'fx_position USD',
      'merchant EUR',
      'scheme_receivable USD',
    ])
    await capture(payments, app, transactionId, 200)
    await snapshot()
    await snapshot()
    const all = await sums(id)
    expect([all.length, all.slice(0, first.length)]).toEqual([2 * first.length, first])
    expect(all.at(-1)).toBe('scheme_receivable USD -500')
    expect(await violations(id)).toEqual([])
  })

  it('takes no day from its caller', async () => {
    const { id } = await oldMerchant()
    const call = sql`SELECT ${sql.table('snapshot_accounts')}(${id}, '2099-01-01'::date)`
    await expect(call.execute(payments.service.db)).rejects.toHaveProperty('code', '42883')
    const row = sql`INSERT INTO ${sql.table('account_snapshots')} VALUES (${id}, 'merchant', 'EUR', true, '2099-01-01', 0)`
    await expect(row.execute(payments.service.db)).rejects.toHaveProperty('code', '42501')
  })

  it('is compared with the entries by ledger verify', async () => {
    const { id, transactionId } = await oldMerchant()
    await capture(payments, app, transactionId, 100)
    await snapshot()
    const { db } = payments.owner
    const own = sql`merchant_id = ${id} AND account = 'merchant'`
    const finding = (date: string, message: string) => ({
      merchantId: id,
      invariant: 19,
      table: 'account_snapshots',
      id: `merchant EUR ${date}`,
      message,
    })
    const { rows } = await sql<{ date: string }>`
      SELECT date::text FROM ${sql.table('account_snapshots')} WHERE ${own}`.execute(db)
    const day = rows[0]?.date ?? ''
    await sql`UPDATE ${sql.table('account_snapshots')} SET sum = sum + 1 WHERE ${own}`.execute(db)
    expect(await violations(id)).toEqual([finding(day, 'is not the sum of its entries')])
    await sql`UPDATE ${sql.table('account_snapshots')} SET sum = sum - 1 WHERE ${own}`.execute(db)
    await sql`
      INSERT INTO ${sql.table('account_snapshots')}
      SELECT merchant_id, account, currency, test, '2099-01-01', (
        SELECT sum(amount) FROM ${sql.table('entries')} WHERE ${own}
      ) FROM ${sql.table('account_snapshots')} WHERE ${own}`.execute(db)
    expect(await violations(id)).toEqual([finding('2099-01-01', 'is of a day that is not over')])
  })
})
