import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { verifyLedger } from '../src/use-cases/verify-ledger.ts'
import { customerPayment } from './customer-payment.ts'
import { createTestApp, createTestMerchant, startPayments, type TestPayments } from './payments-app.ts'

let payments: TestPayments
let watcher: pg.Client
beforeAll(async () => {
  payments = await startPayments({ lockTimeoutMs: 30_000 })
  watcher = await openClient()
})
afterAll(async () => {
  await watcher.end()
  await payments.close()
})

async function openClient(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: payments.url })
  await client.connect()
  return client
}

/** How many statements of the database wait for a lock, on any server. */
async function countWaiting(): Promise<number> {
  const { rows } = await watcher.query<{ result: string }>(`
    SELECT result FROM run_command_on_all_nodes($$
      SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
    $$)`)
  return rows.reduce((sum, { result }) => sum + Number(result), 0)
}

it('a move of rows to another server waits for a capture that has read them', async () => {
  const app = await createTestApp(payments)
  const { id: merchantId } = await createTestMerchant(payments, app, { test: true })
  const url = `/transactions/${await customerPayment(payments, merchantId)}/captures`
  const capture = async () => {
    const payload = { amount: 10 }
    return (await payments.app.inject({ method: 'POST', url, headers: app.headers, payload })).statusCode
  }
  const [holder, mover] = [await openClient(), await openClient()]
  await holder.query('BEGIN')
  await holder.query('SELECT FROM payments.merchant_balances WHERE merchant_id = $1 FOR UPDATE', [merchantId])
  const captured = capture()
  await expect.poll(countWaiting).toBe(1)
  const moved = mover.query(
    `SELECT citus_move_shard_placement(s.shardid, p.nodeid, other.nodeid, 'block_writes')
    FROM get_shard_id_for_distribution_column('payments.merchant_balances', $1::text) AS s (shardid)
    JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node p USING (groupid)
    JOIN pg_dist_node other ON other.nodeid <> p.nodeid AND other.shouldhaveshards`,
    [merchantId],
  )
  await expect.poll(countWaiting).toBe(2)
  await holder.query('ROLLBACK')
  expect(await captured).toBe(201)
  expect((await moved).rowCount).toBe(1)
  await Promise.all([holder.end(), mover.end()])

  expect(await capture()).toBe(201)
  for await (const { violations } of verifyLedger(payments.owner.db, { merchantId, heads: new Map() })) {
    expect(violations).toEqual([])
  }
})
