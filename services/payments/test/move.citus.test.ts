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

async function openClient(url = payments.url): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
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

it('a write that is acknowledged while a move waits for it is on the new server', async () => {
  const app = await createTestApp(payments)
  const { id: merchantId } = await createTestMerchant(payments, app, { test: true })
  const transactionId = await customerPayment(payments, merchantId)
  const { rows } = await watcher.query<{ shard: string; from: number; host: string; to: number }>(
    `SELECT s.shardid AS shard, p.nodeid AS from, p.nodename || ':' || p.nodeport AS host, other.nodeid AS to
    FROM get_shard_id_for_distribution_column('payments.merchant_balances', $1::text) AS s (shardid)
    JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node p USING (groupid)
    JOIN pg_dist_node other ON other.nodeid <> p.nodeid AND other.shouldhaveshards`,
    [merchantId],
  )
  const [place = { shard: '', from: 0, host: '', to: 0 }] = rows
  const url = new URL(payments.url)
  url.host = place.host
  const [writer, mover, source] = [await openClient(), await openClient(), await openClient(url.href)]
  const moved = mover.query("SELECT citus_move_shard_placement($1::bigint, $2::int, $3::int, 'force_logical')", [
    ...[place.shard, place.from, place.to],
  ])
  // Citus makes the slot once all earlier writes have ended, and copies what they have left.
  const isFollowed = async () => (await source.query(FOLLOWED)).rowCount === 1
  await expect.poll(isFollowed, { ...PATIENCE, interval: 5 }).toBe(true)
  await writer.query('BEGIN')
  await writer.query("UPDATE payments.transactions SET reference = 'late' WHERE merchant_id = $1 AND id = $2", [
    ...[merchantId, transactionId],
  ])
  await expect.poll(countWaiting, PATIENCE).toBe(1)
  // All of the log is written and sent, but for the end of the write: whoever compares places in the log finds no difference.
  await source.query('CREATE TABLE public.flushed ()')
  const isSent = async () =>
    (await source.query(`${FOLLOWED} AND confirmed_flush_lsn >= pg_current_wal_lsn()`)).rowCount === 1
  await expect.poll(isSent, PATIENCE).toBe(true)
  await writer.query('COMMIT')
  expect((await moved).rowCount).toBe(1)
  const { json } = await payments.app.inject({ url: `/transactions/${transactionId}`, headers: app.headers })
  expect(json().transaction.reference).toBe('late')
  await Promise.all([writer.end(), mover.end(), source.end()])
}, 300_000)

it('an attempt is settled by a call that has waited for a split of its part', async () => {
  const app = await createTestApp(payments)
  const { id: merchantId } = await createTestMerchant(payments, app, { test: true })
  const payload = { transactionId: await customerPayment(payments, merchantId), currency: 'EUR', amount: 10 }
  const url = `/merchants/${merchantId}/transactions`
  expect((await payments.app.inject({ method: 'POST', url, headers: app.headers, payload })).statusCode).toBe(201)
  const { rows } = await watcher.query<{ id: string; host: string }>(
    `SELECT a.id, n.nodename || ':' || n.nodeport AS host FROM (
      SELECT id FROM payments.attempts WHERE merchant_id = $1) a, pg_dist_placement p JOIN pg_dist_node n USING (groupid)
    WHERE p.shardid = get_shard_id_for_distribution_column('payments.merchant_balances', $1::text)`,
    [merchantId],
  )
  const [attempt = { id: '', host: '' }] = rows
  const source = new URL(payments.url)
  source.host = attempt.host
  const unsettle = "UPDATE payments.attempts SET status = 'unknown' WHERE merchant_id = $1"
  await watcher.query(unsettle, [merchantId])
  const [writer, splitter, settler] = [await openClient(source.href), await openClient(), await openClient()]
  await writer.query('BEGIN')
  await writer.query(unsettle, [merchantId])
  const split = splitter.query(
    "SELECT isolate_tenant_to_new_shard('payments.merchant_balances', $1::text, 'CASCADE', 'block_writes')",
    [merchantId],
  )
  await expect.poll(countWaiting, PATIENCE).toBe(1)
  // The call waits from before the rows are copied until they are there.
  const settled = settler.query("SELECT payments.settle_attempt($1, $2, 'declined') AS done", [merchantId, attempt.id])
  await expect.poll(countWaiting, PATIENCE).toBe(2)
  await writer.query('COMMIT')
  expect((await split).rowCount).toBe(1)
  expect((await settled).rows).toEqual([{ done: true }])
  await Promise.all([writer.end(), splitter.end(), settler.end()])
}, 300_000)

const PATIENCE = { timeout: 120_000, interval: 100 }
const FOLLOWED = `SELECT FROM pg_replication_slots
  WHERE active AND database = current_database() AND slot_name LIKE 'citus_shard_move_slot%'`
