import { type DistributeOptions, distributeDatabase } from '@trestle/citus/distribute.ts'
import { isolateTenant, rebalance } from '@trestle/citus/grow.ts'
import { readState } from '@trestle/citus/notes.ts'
import { undoDistribution } from '@trestle/citus/undo.ts'
import { openWire } from '@trestle/testing/cut-wire.ts'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { verifyLedger } from '../src/use-cases/verify-ledger.ts'
import { customerPayment } from './customer-payment.ts'
import { lockMovesOfRows, MOVES_TIMEOUT_MS } from './moves-of-rows.ts'
import {
  createTestApp,
  createTestMerchant,
  distributionOptions,
  startPayments,
  type TestApp,
  type TestPayments,
} from './payments-app.ts'

// Copying all tables of a shard takes seconds, and much longer on a busy machine.
const PATIENCE = { timeout: 120_000, interval: 100 }

let payments: TestPayments
let app: TestApp
let options: DistributeOptions
let watcher: pg.Client
let unlockMoves: () => Promise<void>
beforeAll(async () => {
  payments = await startPayments({ lockTimeoutMs: 30_000 })
  app = await createTestApp(payments)
  options = distributionOptions(payments.url)
  watcher = await openClient()
  unlockMoves = await lockMovesOfRows(payments.url)
}, MOVES_TIMEOUT_MS)
afterAll(async () => {
  await unlockMoves()
  await watcher.end()
  await payments.close()
})

async function openClient(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: payments.url })
  await client.connect()
  return client
}

/** Runs a statement on only one server. */
async function runOn(node: string, statement: string): Promise<void> {
  const url = new URL(payments.url)
  url.host = node
  const client = new pg.Client({ connectionString: url.href })
  await client.connect()
  await client.query(statement).finally(() => client.end())
}

interface Part {
  readonly id: string
  /** Whether no other merchant can have rows in the shard. */
  readonly isAlone: boolean
  readonly node: string
}

/** Returns the shard with a merchant's rows. */
async function partOf(merchantId: string): Promise<Part> {
  const { rows } = await watcher.query<Part>(
    `SELECT s.shardid AS id, s.shardminvalue = s.shardmaxvalue AS "isAlone", n.nodename || ':' || n.nodeport AS node
    FROM get_shard_id_for_distribution_column('payments.merchant_balances', $1::text) AS found (id)
    JOIN pg_dist_shard s ON s.shardid = found.id JOIN pg_dist_placement p USING (shardid)
    JOIN pg_dist_node n USING (groupid)`,
    [merchantId],
  )
  const [row] = rows
  if (row === undefined) throw new Error('the merchant has no part')
  return row
}

/** Returns a server without the merchant's rows. */
async function otherNode(merchantId: string): Promise<string> {
  const { rows } = await watcher.query<{ node: string }>(
    `SELECT nodename || ':' || nodeport AS node FROM pg_dist_node WHERE shouldhaveshards
      AND nodename || ':' || nodeport <> $1`,
    [(await partOf(merchantId)).node],
  )
  return rows[0]?.node ?? ''
}

/** Counts temporary objects of a move or split on all servers, and the removals that Citus has noted. */
async function countLeft(): Promise<number> {
  const { rows } = await watcher.query<{ result: string }>(`
    SELECT result FROM run_command_on_all_nodes($$
      SELECT (SELECT count(*) FROM pg_replication_slots WHERE database = current_database())
        + (SELECT count(*) FROM pg_subscription s JOIN pg_database d ON d.oid = s.subdbid
           WHERE d.datname = current_database())
    $$)`)
  const locks = await watcher.query(`SELECT FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 13
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
  return rows.reduce((sum, { result }) => sum + Number(result), locks.rowCount ?? 0)
}

/** Counts the statements that wait for a lock, on all servers. */
async function countWaiting(): Promise<number> {
  const { rows } = await watcher.query<{ result: string }>(`
    SELECT result FROM run_command_on_all_nodes($$
      SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
    $$)`)
  return rows.reduce((sum, { result }) => sum + Number(result), 0)
}

/** The start of the newest statement that isolates a merchant, in seconds since 1970, or 0 if there is none. */
async function startOfIsolation(): Promise<number> {
  const { rows } = await watcher.query<{ start: number }>(`
    SELECT coalesce(max(extract(epoch FROM query_start)), 0)::float8 AS start FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%isolate_tenant_to_new_shard%'`)
  return rows[0]?.start ?? 0
}

/** Opens a transaction that has written a merchant's row. Moves of its shard wait until it ends, at the latest with the test. */
async function holdWrites(merchantId: string): Promise<pg.Client> {
  const client = await openClient()
  onTestFinished(() => client.end())
  await client.query('BEGIN')
  await client.query('UPDATE payments.merchant_balances SET last_id = last_id WHERE merchant_id = $1', [merchantId])
  return client
}

const NO_VIOLATION: readonly unknown[] = []

describe('payments distribute --isolate', () => {
  it('gives a merchant whose rows are written a part of its own on a server, and its ledger holds', async () => {
    const { id: merchantId } = await createTestMerchant(payments, app, { test: true })
    const payment = await customerPayment(payments, merchantId)
    const node = await otherNode(merchantId)
    const refused: string[] = []
    let done = 0
    let isMoving = true
    const send = async (url: string, payload: object) => {
      const answer = await payments.app.inject({ method: 'POST', url, headers: app.headers, payload })
      if (answer.statusCode === 201) done += 1
      // A write that waits too long is refused. No other failure is allowed.
      else if (![409, 503].includes(answer.statusCode)) refused.push(`POST ${url}: ${answer.statusCode} ${answer.body}`)
      return answer
    }
    const charge = async (): Promise<void> => {
      while (isMoving) {
        const payload = { transactionId: payment, currency: 'EUR', amount: 10 }
        const charged = await send(`/merchants/${merchantId}/transactions`, payload)
        if (charged.statusCode !== 201) continue
        const { transaction } = charged.json<{ readonly transaction: { readonly id: string } }>()
        await send(`/transactions/${transaction.id}/captures`, { amount: 10 })
      }
    }
    const load = [charge(), charge(), charge()]
    await expect.poll(() => done).toBeGreaterThan(0)
    await isolateTenant(options, { owner: merchantId, node }).finally(() => {
      isMoving = false
    })
    await Promise.all(load)
    expect(refused).toEqual([])
    expect(await partOf(merchantId)).toEqual({ id: expect.any(String), isAlone: true, node })
    expect(await countLeft()).toBe(0)
    for await (const { violations } of verifyLedger(payments.owner.db, { merchantId, heads: new Map() })) {
      expect(violations).toEqual(NO_VIOLATION)
    }
  }, 300_000)

  it('tries again when somebody wrote rows of the merchant for longer than it waits', async () => {
    const { id: merchantId } = await createTestMerchant(payments, app, { test: true })
    const [node, holder] = [await otherNode(merchantId), await holdWrites(merchantId)]
    const isolated = isolateTenant(options, { owner: merchantId, node })
    await expect.poll(countWaiting, PATIENCE).toBe(1)
    const first = await startOfIsolation()
    await expect.poll(startOfIsolation, PATIENCE).toBeGreaterThan(first)
    await holder.query('ROLLBACK')
    await isolated
    expect(await partOf(merchantId)).toEqual({ id: expect.any(String), isAlone: true, node })
    expect(await countLeft()).toBe(0)
  }, 300_000)

  it('leaves nothing behind when the command is killed', async () => {
    const { id: merchantId } = await createTestMerchant(payments, app, { test: true })
    const [before, node, holder] = [await partOf(merchantId), await otherNode(merchantId), await holdWrites(merchantId)]
    const wire = await openWire(payments.url)
    const killed = isolateTenant(distributionOptions(wire.url), { owner: merchantId, node })
    const ended = expect(killed).rejects.toThrow()
    await expect.poll(countWaiting, PATIENCE).toBe(1)
    await wire.close()
    await ended
    await expect.poll(countLeft, PATIENCE).toBe(0)
    await holder.query('ROLLBACK')
    expect(await partOf(merchantId)).toEqual(before)
  }, 300_000)
})

it('no run begins while Citus moves rows, and the database stays distributed', async () => {
  const { id: merchantId } = await createTestMerchant(payments, app, { test: true })
  const [holder, mover] = [await holdWrites(merchantId), await openClient()]
  const moved = mover.query(
    `SELECT citus_move_shard_placement(s.shardid, p.nodeid, other.nodeid, 'block_writes')
    FROM get_shard_id_for_distribution_column('payments.merchant_balances', $1::text) AS s (shardid)
    JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node p USING (groupid)
    JOIN pg_dist_node other ON other.nodeid <> p.nodeid AND other.shouldhaveshards`,
    [merchantId],
  )
  await expect.poll(countWaiting, PATIENCE).toBe(1)
  const reason =
    /^Citus moves rows, so wait for its end: process \d+ of .*citus_move_shard_placement.*, which SELECT pg_/s
  const node = await otherNode(merchantId)
  for (const run of [
    () => undoDistribution(options),
    () => distributeDatabase(options),
    () => rebalance(options, () => {}),
    () => isolateTenant(options, { owner: merchantId, node }),
  ]) {
    await expect(run()).rejects.toThrow(reason)
  }
  expect(await readState(payments.owner.db.withoutPlugins(), options.names)).toBe('distributed')
  await holder.query('ROLLBACK')
  expect((await moved).rowCount).toBe(1)
  await mover.end()
}, 300_000)

it('no run moves rows while a server acknowledges commits that its log may lack', async () => {
  const { id: merchantId } = await createTestMerchant(payments, app, { test: true })
  const [before, node] = [await partOf(merchantId), await otherNode(merchantId)]
  const { pathname } = new URL(payments.url)
  const setOn = (setting: string) => runOn(before.node, `ALTER DATABASE "${pathname.slice(1)}" ${setting}`)
  await setOn('SET synchronous_commit = off')
  onTestFinished(() => setOn('RESET synchronous_commit'))
  const reason = `a move of rows may lose commits that were acknowledged: ${before.node} has synchronous_commit=off`
  await expect(rebalance(options, () => {})).rejects.toThrow(reason)
  await expect(isolateTenant(options, { owner: merchantId, node })).rejects.toThrow(reason)
  expect(await partOf(merchantId)).toEqual(before)
}, 300_000)

it('no run moves rows while a server is away, and the error names it', async () => {
  const { id: merchantId } = await createTestMerchant(payments, app, { test: true })
  const before = await partOf(merchantId)
  const port = Number(before.node.split(':')[1])
  const { host } = new URL(payments.url)
  const moveNode = (from: number, to: number) =>
    runOn(host, `UPDATE pg_dist_node SET nodeport = ${to} WHERE nodeport = ${from}`)
  await moveNode(port, 1)
  try {
    const reason = 'no answer from 127.0.0.1:1, so no rows move'
    await expect(rebalance(options, () => {})).rejects.toThrow(reason)
    await expect(isolateTenant(options, { owner: merchantId, node: before.node })).rejects.toThrow(reason)
  } finally {
    await moveNode(1, port)
  }
  expect(await partOf(merchantId)).toEqual(before)
}, 300_000)

it('no run moves rows before every server lets the role of operators in, which has a password of its own', async () => {
  const { id: merchantId } = await createTestMerchant(payments, app, { test: true })
  const before = await partOf(merchantId)
  const [operatorRole, operatorPassword] = ['grow_test_operators', 'not in the password files']
  const { rows } = await watcher.query<{ node: string }>("SELECT nodename || ':' || nodeport AS node FROM pg_dist_node")
  const nodes = rows.map(({ node }) => node)
  onTestFinished(async () => {
    for (const node of nodes) {
      await runOn(
        node,
        `SET citus.enable_ddl_propagation = off; DROP OWNED BY ${operatorRole}; DROP ROLE ${operatorRole}`,
      )
    }
  })
  const refused = rebalance(distributionOptions(payments.url, { operatorRole, operatorPassword }), () => {})
  await expect(refused).rejects.toThrow(
    /^try the logins between the servers: \S+ refuses: the login of grow_test_operators from the coordinator; the password file there needs the line \S+:grow_test_operators:<that of operators>$/,
  )
  expect(await partOf(merchantId)).toEqual(before)
  for (const node of nodes) {
    const url = new URL(payments.url)
    Object.assign(url, { host: node, username: operatorRole, password: operatorPassword })
    const client = new pg.Client({ connectionString: url.href })
    await client.connect()
    expect((await client.query('SHOW lock_timeout')).rows).toEqual([{ lock_timeout: '2s' }])
    await client.end()
  }
}, 300_000)

it('no run begins at a worker, and the error leads to the coordinator', async () => {
  const worker = new URL(payments.url)
  worker.host =
    (
      await watcher.query<{ node: string }>(
        "SELECT nodename || ':' || nodeport AS node FROM pg_dist_node WHERE groupid > 0 LIMIT 1",
      )
    ).rows[0]?.node ?? ''
  const atWorker = distributionOptions(worker.href)
  const owner = 'a'.repeat(24)
  for (const run of [
    () => undoDistribution(atWorker),
    () => rebalance(atWorker, () => {}),
    () => isolateTenant(atWorker, { owner, node: worker.host }),
  ]) {
    await expect(run()).rejects.toThrow(
      'this server is a worker of a Citus cluster: use the address of its coordinator',
    )
  }
})
