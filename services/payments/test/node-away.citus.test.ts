import { createOutbox, type Outbox } from '@trestle/jobs/outbox.ts'
import { freePort } from '@trestle/testing/free-port.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { doctor } from '../src/commands/doctor.ts'
import { loadPaymentsConfig } from '../src/config.ts'
import { deliveryTask } from '../src/webhooks/delivery.ts'
import { statusAndBody } from './bodies.ts'
import { customerPayment } from './customer-payment.ts'
import {
  createTestApp,
  createTestMerchant,
  merchantBody,
  placement,
  startPayments,
  type TestApp,
  type TestPayments,
} from './payments-app.ts'

// A worker that is gone, as the coordinator sees it: in this database alone, its address leads nowhere.

interface Subject {
  readonly merchantId: string
  readonly transactionId: string
  readonly node: NodeRow
}

interface NodeRow {
  readonly id: number
  readonly port: number
}

let payments: TestPayments
let app: TestApp
/** A merchant whose node stays, and one whose node goes away. */
let near: Subject
let far: Subject
/** The port at which the coordinator looks for the worker. */
let gonePort = 0
let movers: readonly Outbox[] = []
beforeAll(async () => {
  payments = await startPayments()
  app = await createTestApp(payments)
  near = await createSubject()
  do far = await createSubject()
  while (far.node.id === near.node.id)
})
afterAll(async () => {
  for (const { stop } of movers) await stop()
  await payments.deps.jobs.close()
  await payments.close()
})

async function createSubject(): Promise<Subject> {
  const { id: merchantId } = await createTestMerchant(payments, app, { test: true })
  const payload = { url: 'https://shop.example/hooks' }
  await payments.app.inject({ method: 'POST', url: `/merchants/${merchantId}/webhooks`, headers: app.headers, payload })
  const { rows } = await sql<NodeRow>`
    SELECT n.nodeid AS id, n.nodeport AS port FROM pg_dist_placement p JOIN pg_dist_node n USING (groupid)
    WHERE p.shardid = get_shard_id_for_distribution_column('payments.merchant_balances', ${merchantId}::text)`.execute(
    payments.owner.db,
  )
  const [node = { id: 0, port: 0 }] = rows
  return { merchantId, transactionId: await customerPayment(payments, merchantId), node }
}

const moveNode = (port: number) =>
  sql`SELECT citus_update_node(${far.node.id}::int, '127.0.0.1', ${port}::int)`.execute(payments.owner.db)

const send = (method: 'GET' | 'POST' | 'PUT', url: string, payload?: object) =>
  payments.app.inject({ method, url, headers: app.headers, ...(payload && { payload }) })
const capture = ({ transactionId }: Subject) => send('POST', `/transactions/${transactionId}/captures`, { amount: 10 })

/** The merchants of the deliveries in the queue, one for each delivery. */
async function queued(): Promise<readonly string[]> {
  const { rows } = await sql<{ merchant: string }>`
    SELECT data ->> 'merchantId' AS merchant FROM payments_jobs.job WHERE name = ${deliveryTask.name}`.execute(
    payments.owner.db,
  )
  return rows.map(({ merchant }) => merchant)
}

describe('while a worker is gone', () => {
  beforeAll(async () => {
    expect((await capture(far)).statusCode).toBe(201)
    gonePort = await freePort()
    await moveNode(gonePort)
  })
  afterAll(() => moveNode(far.node.port))

  it.each([
    ['a capture', () => capture(far)],
    ['a read', () => send('GET', `/transactions/${far.transactionId}`)],
    ['a list', () => send('GET', `/merchants/${far.merchantId}/transactions?limit=1`)],
    ['a new merchant', () => send('POST', '/merchants', merchantBody)],
    ['a change of a merchant', () => send('PUT', `/merchants/${near.merchantId}`, { name: 'Our shop' })],
  ])('503: refuses %s that needs the worker', async (_what, request) => {
    const { statusCode, headers, json } = await request()
    expect([statusCode, headers['retry-after'], json()]).toEqual([
      503,
      '1',
      { code: 'SERVICE_UNAVAILABLE', message: 'The service cannot answer now' },
    ])
  })

  it('201: goes on for merchants on other nodes, and stays ready', async () => {
    const captured = await capture(near)
    const { transaction } = captured.json()
    expect([captured.statusCode, transaction.capturedAmount]).toEqual([201, 10])
    const read = await send('GET', `/transactions/${near.transactionId}`)
    expect(statusAndBody(read)).toEqual([200, { transaction }])
    expect(statusAndBody(await send('GET', '/ready'))).toEqual([200, { status: 'ready' }])
  })

  it('is named by doctor, which checks what it can', async () => {
    const lines: string[] = []
    const settings = {
      PAYMENTS_DEV: 'true',
      PAYMENTS_BASE_URL: 'http://localhost',
      PAYMENTS_DATABASE_URL: payments.url,
      PAYMENTS_DB_ROLE: 'payments_service',
    }
    const print = (line: string) => lines.push(line)
    await doctor(
      () => loadPaymentsConfig(settings),
      print,
      () => new Date(),
    )
    expect(lines.filter((line) => line.startsWith('wrong'))).toEqual([
      `wrong servers of the cluster: no answer from 127.0.0.1:${gonePort}: connection to the remote node payments_service@127.0.0.1:${gonePort} failed with the following error: Connection refused, so not checked: logins between the servers, functions on the servers, internal functions of Citus, vault keys, webhooks, bank accounts; start the servers, or let them take the login that they refuse, then run: payments distribute --rebalance`,
    ])
    expect(lines.filter((line) => /vault keys: |functions on the servers: /.test(line))).toEqual([])
  })

  it('queues the jobs of merchants on other nodes, once each by two processes', async () => {
    for (let count = 0; count < 5; count += 1) await capture(near)
    await payments.deps.jobs.open()
    const { service, deps } = payments
    const options = { db: service.db, jobs: deps.jobs, take: placement.takeRows(service.db), onError: () => {} }
    movers = [createOutbox(options), createOutbox(options)]
    for (const { start } of movers) start()
    await expect.poll(queued).toEqual(Array.from({ length: 6 }, () => near.merchantId))
    const left = async () =>
      (await sql`SELECT id FROM payments.outbox WHERE merchant_id = ${near.merchantId}`.execute(payments.owner.db)).rows
    await expect.poll(left).toEqual([])
  })
})

it('201: captures payments of a worker that is back, and queues the jobs that waited', async () => {
  expect((await capture(far)).statusCode).toBe(201)
  await expect.poll(async () => (await queued()).filter((id) => id === far.merchantId)).toHaveLength(2)
})
