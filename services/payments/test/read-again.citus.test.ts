import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { freePort } from '@trestle/testing/free-port.ts'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { customerPayment } from './customer-payment.ts'
import { createTestApp, createTestMerchant, startPayments, type TestApp, type TestPayments } from './payments-app.ts'

// Citus tells the servers of the end of a split one after the other: here the second server hears it late. Until all have answered,
// the sessions of the coordinator look for rows where they were.

const PATIENCE = { timeout: 60_000, interval: 100 }

let payments: TestPayments
let app: TestApp
let watcher: pg.Client
let gate: Gate
beforeAll(async () => {
  payments = await startPayments({ lockTimeoutMs: 30_000 })
  app = await createTestApp(payments)
  watcher = await openClient()
})
afterAll(async () => {
  await watcher.end()
  await gate.close()
  await payments.close()
})

async function openClient(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: payments.url })
  await client.connect()
  return client
}

/** A way to a server on which commits of prepared transactions can be held back. */
interface Gate {
  readonly port: number
  /** Holds back the commits that come from now on. */
  readonly shut: () => void
  readonly isHolding: () => boolean
  readonly open: () => void
  readonly close: () => Promise<void>
}

async function openGate(serverPort: number): Promise<Gate> {
  const port = await freePort()
  const sockets = new Set<Socket>()
  const held: (() => void)[] = []
  let isShut = false
  const listener = createServer((client) => {
    const server = connect(serverPort, '127.0.0.1')
    client.on('data', (data) => {
      if (isShut && data.includes('COMMIT PREPARED')) held.push(() => server.write(data))
      else server.write(data)
    })
    server.on('data', (data) => client.write(data))
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => other.destroySoon())
    }
  })
  listener.listen(port, '127.0.0.1')
  await once(listener, 'listening')
  return {
    port,
    shut: () => {
      isShut = true
    },
    isHolding: () => held.length > 0,
    open: () => {
      isShut = false
      for (const send of held.splice(0)) send()
    },
    close: async () => {
      for (const socket of sockets) socket.destroy()
      listener.close()
      await once(listener, 'close')
    },
  }
}

/** How many statements of the database wait for a lock, on any server. */
async function countWaiting(): Promise<number> {
  const { rows } = await watcher.query<{ result: string }>(`
    SELECT result FROM run_command_on_all_nodes($$
      SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
    $$)`)
  return rows.reduce((sum, { result }) => sum + Number(result), 0)
}

it('200: finds a transaction that was made while the end of a split is told to the servers', async () => {
  const { id: merchantId } = await createTestMerchant(payments, app, { test: true })
  const payment = await customerPayment(payments, merchantId)
  const read = (id: string) => payments.app.inject({ url: `/transactions/${id}`, headers: app.headers })
  const { rows } = await watcher.query<{ id: number; port: number }>(
    `SELECT nodeid AS id, nodeport AS port FROM pg_dist_node WHERE shouldhaveshards AND groupid <> (
      SELECT groupid FROM pg_dist_placement
      WHERE shardid = get_shard_id_for_distribution_column('payments.merchant_balances', $1::text))`,
    [merchantId],
  )
  const [far = { id: 0, port: 0 }] = rows
  gate = await openGate(far.port)
  await watcher.query("SELECT citus_update_node($1::int, '127.0.0.1', $2::int)", [far.id, gate.port])
  // Every connection for reads has looked where the rows are.
  const known = await Promise.all(Array.from({ length: 16 }, () => read(payment)))
  expect(new Set(known.map(({ statusCode }) => statusCode))).toEqual(new Set([200]))

  const [writer, splitter] = [await openClient(), await openClient()]
  await writer.query('BEGIN')
  await writer.query('UPDATE payments.merchant_balances SET last_id = last_id WHERE merchant_id = $1', [merchantId])
  const split = splitter.query(
    "SELECT isolate_tenant_to_new_shard('payments.merchant_balances', $1::text, 'CASCADE', 'block_writes')",
    [merchantId],
  )
  await expect.poll(countWaiting, PATIENCE).toBe(1)
  gate.shut()
  await writer.query('COMMIT')
  await expect.poll(gate.isHolding, PATIENCE).toBe(true)
  const payload = { transactionId: payment, currency: 'EUR', amount: 10 }
  const url = `/merchants/${merchantId}/transactions`
  const charged = await payments.app.inject({ method: 'POST', url, headers: app.headers, payload })
  expect(charged.statusCode).toBe(201)
  const { id } = charged.json().transaction
  // A write runs on the server of the merchant, which has heard of the split.
  const captures = `/transactions/${id}/captures`
  const captured = { method: 'POST', url: captures, headers: app.headers, payload: { amount: 10 } } as const
  expect((await payments.app.inject(captured)).statusCode).toBe(201)

  let isAnswered = false
  const found = read(id).finally(() => {
    isAnswered = true
  })
  await expect.poll(async () => isAnswered || (await countWaiting()) > 0, PATIENCE).toBe(true)
  gate.open()
  const { statusCode, json } = await found
  expect([statusCode, json().transaction?.id]).toEqual([200, id])
  expect((await split).rowCount).toBe(1)
  await Promise.all([writer.end(), splitter.end()])
}, 300_000)
