import { createNoopMeter } from '@opentelemetry/api'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { callAddException, callResolveException, listOpenExceptions } from '../src/acquirers/exception-repository.ts'
import { updateOfferedStep, updateOutcome, updateTakenStep } from '../src/checkout/session-repository.ts'
import { rotateVault } from '../src/use-cases/rotate-vault.ts'
import { verifyLedger } from '../src/use-cases/verify-ledger.ts'
import { createPanVault } from '../src/vault/pan-vault.ts'
import { createWebhookSecrets } from '../src/webhooks/webhook-secret.ts'
import { customerPayment } from './customer-payment.ts'
import { lockMovesOfRows, MOVES_TIMEOUT_MS } from './moves-of-rows.ts'
import {
  createTestApp,
  createTestMerchant,
  openAs,
  startPayments,
  type TestPayments,
  testPepper,
} from './payments-app.ts'

let payments: TestPayments
let watcher: pg.Client
let unlockMoves: () => Promise<void>
beforeAll(async () => {
  payments = await startPayments({ lockTimeoutMs: WAITS.lockTimeoutMs })
  watcher = await openClient()
  unlockMoves = await lockMovesOfRows(payments.url)
}, MOVES_TIMEOUT_MS)
afterAll(async () => {
  await unlockMoves()
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
  await expect.poll(countWaiting, PATIENCE).toBe(1)
  const moved = mover.query(
    `SELECT citus_move_shard_placement(s.shardid, p.nodeid, other.nodeid, 'block_writes')
    FROM get_shard_id_for_distribution_column('payments.merchant_balances', $1::text) AS s (shardid)
    JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node p USING (groupid)
    JOIN pg_dist_node other ON other.nodeid <> p.nodeid AND other.shouldhaveshards`,
    [merchantId],
  )
  await expect.poll(countWaiting, PATIENCE).toBe(2)
  await holder.query('ROLLBACK')
  expect(await captured).toBe(201)
  expect((await moved).rowCount).toBe(1)
  await Promise.all([holder.end(), mover.end()])

  expect(await capture()).toBe(201)
  for await (const { violations } of verifyLedger(payments.owner.db, { merchantId, heads: new Map() })) {
    expect(violations).toEqual([])
  }
}, 300_000)

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
  // All of the log is written and sent, but for the end of the write: a comparison of places in the log finds no difference.
  await source.query('CREATE TABLE public.flushed ()')
  // Other databases of the server write to its log all the time, so its end is read once.
  const { rows: ends } = await source.query<{ end: string }>('SELECT pg_current_wal_lsn()::text AS end')
  const isSent = async () =>
    (await source.query(`${FOLLOWED} AND confirmed_flush_lsn >= $1::pg_lsn`, [ends[0]?.end])).rowCount === 1
  await expect.poll(isSent, PATIENCE).toBe(true)
  await writer.query('COMMIT')
  expect((await moved).rowCount).toBe(1)
  const { json } = await payments.app.inject({ url: `/transactions/${transactionId}`, headers: app.headers })
  expect(json().transaction.reference).toBe('late')
  await Promise.all([writer.end(), mover.end(), source.end()])
}, 300_000)

/** Splits the part of a merchant after writes that began before the copy, and ended after it. They find the rows as they were. */
async function splitBefore(merchantId: string, writes: readonly (() => Promise<unknown>)[]): Promise<void> {
  const [writer, splitter] = [await openClient(await urlOf(merchantId)), await openClient()]
  await writer.query('BEGIN')
  await writer.query('UPDATE payments.merchant_balances SET last_id = last_id WHERE merchant_id = $1', [merchantId])
  const split = splitter.query(
    "SELECT isolate_tenant_to_new_shard('payments.merchant_balances', $1::text, 'CASCADE', 'block_writes')",
    [merchantId],
  )
  await expect.poll(countWaiting, PATIENCE).toBe(1)
  const written = writes.map((write) => write())
  await expect.poll(countWaiting, PATIENCE).toBe(1 + writes.length)
  await writer.query('COMMIT')
  expect((await split).rowCount).toBe(1)
  await Promise.all(written)
  await Promise.all([writer.end(), splitter.end()])
}

/** The URL of the server that has the rows of a merchant. */
async function urlOf(merchantId: string): Promise<string> {
  const { rows } = await watcher.query<{ host: string }>(
    `SELECT n.nodename || ':' || n.nodeport AS host FROM pg_dist_placement p JOIN pg_dist_node n USING (groupid)
    WHERE p.shardid = get_shard_id_for_distribution_column('payments.merchant_balances', $1::text)`,
    [merchantId],
  )
  const url = new URL(payments.url)
  url.host = rows[0]?.host ?? ''
  return url.href
}

it('an attempt is settled by a call that has waited for a split of its part', async () => {
  const app = await createTestApp(payments)
  const { id: merchantId } = await createTestMerchant(payments, app, { test: true })
  const payload = { transactionId: await customerPayment(payments, merchantId), currency: 'EUR', amount: 10 }
  const url = `/merchants/${merchantId}/transactions`
  expect((await payments.app.inject({ method: 'POST', url, headers: app.headers, payload })).statusCode).toBe(201)
  const unsettle = "UPDATE payments.attempts SET state = 'unknown' WHERE merchant_id = $1 RETURNING id"
  const { rows } = await watcher.query<{ id: string }>(unsettle, [merchantId])
  const settler = await openClient()
  await splitBefore(merchantId, [
    async () => {
      const settle = "SELECT payments.settle_attempt($1, $2, 'declined') AS done"
      expect((await settler.query(settle, [merchantId, rows[0]?.id])).rows).toEqual([{ done: true }])
    },
  ])
  await settler.end()
}, 300_000)

it('a step of a checkout is stored by a call to the server of the merchant that has waited for a split of its part', async () => {
  const app = await createTestApp(payments)
  const { id: merchantId } = await createTestMerchant(payments, app, { test: true })
  const { rows: sessions } = await watcher.query<{ id: string }>(
    `INSERT INTO payments.payment_sessions (merchant_id, id, created, digest, step, expires, challenged)
    SELECT $1, repeat(n::text, 24), now(), decode(repeat('00', 32), 'hex'), 'card-lookup', now() + interval '30 minutes', now()
    FROM generate_series(1, 3) n RETURNING id`,
    [merchantId],
  )
  const entry = openAs('payments_service', { url: await urlOf(merchantId), coordinatorUrl: payments.url, ...WAITS })
  const keys = sessions.map(({ id }) => ({ merchantId, id }))
  const [offered = { merchantId, id: '' }, taken = offered, decided = offered] = keys
  await splitBefore(merchantId, [
    () => updateOfferedStep(entry.pools, offered, { from: 'card-lookup', to: 'tds-challenge' }),
    () => updateTakenStep(entry.pools, taken, 'card-lookup'),
    () => updateOutcome(entry.pools, decided, 'authenticated'),
  ])
  const { rows } = await watcher.query(
    'SELECT step, taken_step, outcome FROM payments.payment_sessions WHERE merchant_id = $1 ORDER BY id',
    [merchantId],
  )
  expect(rows).toEqual([
    { step: 'tds-challenge', taken_step: null, outcome: null },
    { step: 'card-lookup', taken_step: 'card-lookup', outcome: null },
    { step: 'card-lookup', taken_step: null, outcome: 'authenticated' },
  ])
  await entry.close()
}, 300_000)

it('a command that enters by the coordinator closes what it finds there after a split of its part', async () => {
  const app = await createTestApp(payments)
  const { id: merchantId } = await createTestMerchant(payments, app, { test: true })
  const { db, close } = openAs(undefined, { url: payments.url, ...WAITS })
  await callAddException(db, { merchantId, reference: 'late', payload: {} })
  const [exception] = (await listOpenExceptions(db, 10)).filter((open) => open.merchantId === merchantId)
  await splitBefore(merchantId, [
    async () =>
      expect(await callResolveException(db, { merchantId, id: exception?.id ?? '' })).toHaveProperty('waited', true),
  ])
  await close()
}, 300_000)

it('a split waits for a rotation of keys that has read the secrets of webhooks', async () => {
  const app = await createTestApp(payments)
  const { id: merchantId } = await createTestMerchant(payments, app, { test: true })
  const url = `/merchants/${merchantId}/webhooks`
  const payload = { url: 'https://shop.example/hooks' }
  expect((await payments.app.inject({ method: 'POST', url, headers: app.headers, payload })).statusCode).toBe(201)
  const fresh = { id: 2, key: Buffer.alloc(32, 2) }
  const vaultKeys = [fresh, { id: 1, key: Buffer.alloc(32, 1) }] as const
  const webhookSecrets = createWebhookSecrets({ vaultKeys, pepper: testPepper.export() })
  const database = openAs(undefined, { url: payments.url, ...WAITS })
  const shardOf = async () => {
    const { rows } = await watcher.query(
      "SELECT get_shard_id_for_distribution_column('payments.webhooks', $1::text) AS shard",
      [merchantId],
    )
    return rows
  }
  const before = await shardOf()
  const [locker, splitter] = [await openClient(), await openClient()]
  await locker.query('BEGIN')
  await locker.query('SELECT FROM payments.webhooks WHERE merchant_id = $1 FOR UPDATE', [merchantId])
  const vault = createPanVault(vaultKeys, createNoopMeter())
  const rotated = rotateVault({ db: database.db, vault, webhookSecrets })
  await expect.poll(countWaiting, PATIENCE).toBe(1)
  const split = splitter.query(
    "SELECT isolate_tenant_to_new_shard('payments.merchant_balances', $1::text, 'CASCADE', 'block_writes')",
    [merchantId],
  )
  await expect.poll(countWaiting, PATIENCE).toBe(2)
  // A split that has ended waits for the lock too, to drop the old rows.
  expect(await shardOf()).toEqual(before)
  await locker.query('COMMIT')
  expect((await rotated).webhooks).toBe(1)
  expect((await split).rowCount).toBe(1)
  const { rows } = await watcher.query(
    'SELECT get_byte(secret_sealed, 0) AS key FROM payments.webhooks WHERE merchant_id = $1',
    [merchantId],
  )
  expect(rows).toEqual([{ key: 2 }])
  await Promise.all([database.close(), locker.end(), splitter.end()])
}, 300_000)

// On a busy machine, what holds a lock takes as long to let go as a test may poll.
const WAITS = { lockTimeoutMs: 120_000, statementTimeoutMs: 120_000 }
const PATIENCE = { timeout: 120_000, interval: 100 }
// A slot that is still being made waits for all transactions that write, and has confirmed nothing.
const FOLLOWED = `SELECT FROM pg_replication_slots WHERE confirmed_flush_lsn IS NOT NULL
  AND database = current_database() AND slot_name LIKE 'citus_shard_move_slot%'`
