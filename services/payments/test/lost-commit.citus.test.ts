import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import type { OperatorRole } from '@trestle/operators/operator-roles.ts'
import { freePort } from '@trestle/testing/free-port.ts'
import type { LightMyRequestResponse } from 'fastify'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { buildApp } from '../src/app.ts'
import { runPayoutExport } from '../src/payouts/payout-batch-repository.ts'
import { payOutMerchants } from '../src/use-cases/pay-out-merchants.ts'
import { customerPayment } from './customer-payment.ts'
import { capture } from './operations.ts'
import { payableMerchant } from './operator-payouts.ts'
import { operatorHeaders, testOperators } from './operators.ts'
import {
  createTestApp,
  createTestMerchant,
  openAs,
  startPayments,
  type TestApp,
  type TestPayments,
} from './payments-app.ts'
import { TEST_IBAN } from './payout-requests.ts'

// Tests the loss of a server at the end of a transaction: the server executes the statement, but its answer is lost.

/** The merchant id in audit log rows without a merchant. All merchants of this file are on the same worker. */
const NO_MERCHANT = '0'.repeat(24)

let payments: TestPayments
let app: TestApp
let merchantId: string
let worker: { readonly id: number; readonly port: number; readonly part: number }
let wire: LossyWire
beforeAll(async () => {
  payments = await startPayments({
    operators: testOperators,
    refundLimits: { once: new Map([['EUR', 100]]), daily: new Map([['EUR', 250]]) },
  })
  app = await createTestApp(payments)
  worker = await findWorker(NO_MERCHANT)
  merchantId = await onWorker(async () => {
    const { id } = await createTestMerchant(payments, app, { test: true, currency: 'EUR' })
    return id
  })
  wire = await openLossyWire(worker.port)
  await moveWorker(wire.port)
})
afterAll(async () => {
  await moveWorker(worker.port)
  await payments.close()
  await wire.close()
})

/** Returns the worker with a merchant's rows. */
async function findWorker(merchant: string): Promise<typeof worker> {
  const { rows } = await sql<typeof worker>`
    SELECT n.nodeid AS id, n.nodeport AS port, p.shardid::int AS part FROM pg_dist_placement p JOIN pg_dist_node n USING (groupid)
    WHERE p.shardid = get_shard_id_for_distribution_column('payments.merchant_balances', ${merchant}::text)`.execute(
    payments.owner.db,
  )
  return rows[0] ?? { id: 0, port: 0, part: 0 }
}

/** Creates merchants until one is on the worker. Returns its id. */
async function onWorker(make: () => Promise<string>): Promise<string> {
  const id = await make()
  return (await findWorker(id)).part === worker.part ? id : onWorker(make)
}

const moveWorker = (port: number) =>
  sql`SELECT citus_update_node(${worker.id}::int, '127.0.0.1', ${port}::int)`.execute(payments.owner.db)

/** A proxy to a server. It loses the answers to some statements, and closes their connections. */
interface LossyWire {
  readonly port: number
  /** From now on, loses the answers to statements that begin with this word. `undefined` ends this. */
  readonly lose: (word: string | undefined) => void
  /** Loses the statements themselves. */
  readonly drop: (word: string | undefined) => void
  /** The number of lost answers and statements. */
  readonly lost: () => number
  readonly close: () => Promise<void>
}

/** A message begins with its type and length, before its text. */
const TEXT_OFFSET = 5

async function openLossyWire(serverPort: number): Promise<LossyWire> {
  const port = await freePort()
  const sockets = new Set<Socket>()
  let word: string | undefined
  let dropped: string | undefined
  let lost = 0
  const listener = createServer((client) => {
    const server = connect(serverPort, '127.0.0.1')
    let isLosing = false
    client.on('data', (data) => {
      const begins = (text: string | undefined) =>
        text !== undefined && data.toString('latin1', TEXT_OFFSET).startsWith(text)
      if (begins(dropped)) {
        lost += 1
        client.destroy()
        return
      }
      isLosing ||= begins(word)
      server.write(data)
    })
    server.on('data', (data) => {
      if (!isLosing) return client.write(data)
      // The server has already executed the statement.
      lost += 1
      client.destroy()
    })
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroySoon()
      })
    }
  })
  listener.listen(port, '127.0.0.1')
  await once(listener, 'listening')
  return {
    port,
    lose: (next) => {
      word = next
    },
    drop: (next) => {
      dropped = next
    },
    lost: () => lost,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      listener.close()
      await once(listener, 'close')
    },
  }
}

interface Sent {
  readonly role?: OperatorRole
  readonly at?: Pick<TestPayments, 'app'>
  /** The proxy that loses the first answer, by default the one to the worker. */
  readonly on?: LossyWire
  /** Called between the two requests. */
  readonly between?: () => Promise<void>
}

/** Sends an operator's change twice with one key. During the first request, a server is lost. */
async function sendTwice(
  word: string,
  url: string,
  { role = 'admin', at = payments, on = wire, between = async () => {} }: Sent = {},
) {
  const headers = { ...operatorHeaders(role), 'idempotency-key': randomUUID() }
  const send = () => at.app.inject({ method: 'POST', url, headers, payload: { amount: 7 } })
  const before = on.lost()
  on.lose(word)
  const first = await send()
  on.lose(undefined)
  expect(on.lost() - before).toBeGreaterThan(0)
  // Citus does this once a minute.
  await sql`SELECT recover_prepared_transactions()`.execute(payments.owner.db)
  await between()
  return [first, await send()] as const
}

async function countAudits(id: string): Promise<number> {
  const rows = payments.owner.db.selectFrom('audit').select('payload').where('merchant_id', '=', merchantId)
  const found = await rows.where('action', 'like', 'operator.%').execute()
  return found.filter(({ payload }) => JSON.stringify(payload).includes(id)).length
}

const OPERATIONS = [
  ['captures', 'capturedAmount'],
  ['voids', 'voidedAmount'],
] as const

// A prepared change is committed even if the worker is lost.
const ENDINGS = [
  [201, 'COMMIT'],
  [503, 'PREPARE TRANSACTION'],
] as const

it.each(OPERATIONS.flatMap(([path, amount]) => ENDINGS.map((ending) => [...ending, path, amount] as const)))(
  '%i: a worker that is lost at its %s has %s of an operator once after a repeat',
  async (status, word, path, amount) => {
    const id = await customerPayment(payments, merchantId)
    const [first, second] = await sendTwice(word, `/operator/transactions/${id}/${path}`)
    expect([first.statusCode, first.headers['retry-after']]).toEqual([status, status === 503 ? '1' : undefined])
    expect([second.statusCode, second.json().transaction[amount]]).toEqual([201, 7])
    const read = await payments.app.inject({ url: `/transactions/${id}`, headers: app.headers })
    expect([read.json().transaction[amount], await countAudits(id)]).toEqual([7, 1])
  },
)

/** Creates a fully captured payment. */
async function capturedPayment(): Promise<string> {
  const id = await customerPayment(payments, merchantId, { amount: 20, currency: 'EUR' })
  await capture(payments, app, id, 20)
  return id
}

/** Returns the sum that support has taken from its quota. */
async function sumTaken(): Promise<number> {
  const { rows } = await sql<{ taken: number }>`
    SELECT coalesce(sum(taken), 0)::int AS taken FROM payments.operator_allowances`.execute(payments.owner.db)
  return rows[0]?.taken ?? 0
}

async function refundedOf(id: string): Promise<number> {
  const read = await payments.app.inject({ url: `/transactions/${id}`, headers: app.headers })
  return read.json().transaction.refundedAmount
}

it.each(ENDINGS)(
  '%i: a worker that is lost at its %s has a refund of support once after a repeat',
  async (status, word) => {
    const id = await capturedPayment()
    const before = await sumTaken()
    const [first, second] = await sendTwice(word, `/operator/transactions/${id}/refunds`, {
      role: 'support',
      // A change that was not made takes no quota until it is repeated.
      between: async () => expect(await sumTaken()).toBe(status === 201 ? before + 7 : before),
    })
    expect([first.statusCode, first.headers['retry-after']]).toEqual([status, status === 503 ? '1' : undefined])
    expect([second.statusCode, second.json().transaction.refundedAmount]).toEqual([201, 7])
    expect([await refundedOf(id), await sumTaken(), await countAudits(id)]).toEqual([7, before + 7, 1])
  },
)

it('503: a refund whose outcome the service has not heard is made, counts once, and is replayed to a repeat', async () => {
  const url = new URL(payments.url)
  const on = await openLossyWire(Number(url.port))
  url.port = String(on.port)
  const operators = openAs('payments_operators', { url: url.href, lockTimeoutMs: 2_000 })
  const at = { app: await buildApp({ ...payments.deps, operatorDb: operators.db }) }
  onTestFinished(async () => {
    await at.app.close()
    await operators.close()
    await on.close()
  })
  const id = await capturedPayment()
  const before = await sumTaken()
  const [first, second] = await sendTwice('commit', `/operator/transactions/${id}/refunds`, { role: 'support', at, on })
  expect([first.statusCode, first.headers['retry-after'], first.json()]).toEqual([
    503,
    '1',
    { code: 'SERVICE_UNAVAILABLE', message: 'The service cannot answer now' },
  ])
  expect([second.statusCode, second.headers['idempotent-replayed']]).toEqual([201, 'true'])
  expect([await refundedOf(id), await sumTaken(), await countAudits(id)]).toEqual([7, before + 7, 1])
})

/** Pays out one merchant. */
async function payOut(only: string): Promise<void> {
  const { pools, config } = payments.deps
  for await (const _turn of payOutMerchants({ db: payments.owner.db, pools, config }, { only }));
}

it.each([
  ['waits', 'PREPARE TRANSACTION', { status: 'created', batches: 0 }],
  ['is in one batch', 'COMMIT', { status: 'exported', batches: 1 }],
] as const)('a payout %s where a worker is lost at the %s of its export', async (_, word, expected) => {
  const id = await onWorker(() => payableMerchant(payments, app, 'EUR'))
  await payOut(id)
  const before = wire.lost()
  wire.lose(word)
  const exported = runPayoutExport(
    payments.owner.db,
    {
      debtor: { name: 'Trestle', iban: TEST_IBAN, bic: undefined },
      version: 'pain.001.001.09',
      timeZone: 'UTC',
      executionDate: undefined,
    },
    async () => {},
  )
  const ended = await exported.then(
    () => 'exported',
    () => 'created',
  )
  wire.lose(undefined)
  expect(wire.lost() - before).toBeGreaterThan(0)
  await sql`SELECT recover_prepared_transactions()`.execute(payments.owner.db)
  const payouts = await payments.owner.db
    .selectFrom('payouts')
    .select(['id', 'status'])
    .where('merchant_id', '=', id)
    .execute()
  const [payout] = payouts
  const { rows: batches } = await sql`
    SELECT FROM payments.payout_batches WHERE payouts @> jsonb_build_array(jsonb_build_object('id', ${payout?.id}::text))`.execute(
    payments.owner.db,
  )
  expect({ status: payout?.status, batches: batches.length }).toEqual(expected)
  expect(ended).toBe(expected.status)
})

const changeAs = (method: 'POST' | 'PUT', url: string, payload: object) =>
  payments.app.inject({
    ...{ method, url: `/operator${url}`, payload },
    headers: { ...operatorHeaders('admin'), 'idempotency-key': randomUUID() },
  })

/** A change that needs a merchant's row as recorded. */
interface Change {
  readonly merchant: string
  readonly send: () => Promise<LightMyRequestResponse>
}

async function lostDispute(): Promise<Change> {
  const opened = await changeAs('POST', `/transactions/${await capturedPayment()}/disputes`, { amount: 5 })
  const send = () => changeAs('POST', `/disputes/${opened.json().dispute.id}/outcome`, { outcome: 'lost' })
  return { merchant: merchantId, send }
}

async function exportOfPayouts(): Promise<Change> {
  const merchant = await onWorker(() => payableMerchant(payments, app, 'EUR'))
  await payOut(merchant)
  return { merchant, send: () => changeAs('POST', '/payouts/batches', { name: 'Trestle', iban: TEST_IBAN }) }
}

async function changeOfPrices(): Promise<Change> {
  const send = () => changeAs('PUT', `/merchants/${merchantId}/pricing`, { rate: 8 })
  return { merchant: merchantId, send }
}

async function changeByMember(): Promise<Change> {
  const [url, payload] = [`/merchants/${merchantId}`, { descriptor: 'Tea' }]
  return {
    merchant: merchantId,
    send: () => payments.app.inject({ method: 'PUT', url, headers: app.headers, payload }),
  }
}

it.each([
  ['a dispute is not lost', 201, lostDispute],
  ['a payout is not exported', 201, exportOfPayouts],
  ['prices are not changed', 200, changeOfPrices],
  ['a member changes nothing', 204, changeByMember],
] as const)(
  '409: %s while the worker of the merchant has not heard of the end of a change',
  async (_, done, prepare) => {
    const { merchant, send } = await prepare()
    const before = wire.lost()
    wire.drop('COMMIT PREPARED')
    const { statusCode } = await changeAs('PUT', `/merchants/${merchant}/pricing`, { rate: 7 })
    expect([statusCode, wire.lost() > before]).toEqual([200, true])
    const first = await send()
    wire.drop(undefined)
    await sql`SELECT recover_prepared_transactions()`.execute(payments.owner.db)
    expect([first.statusCode, first.json()]).toEqual([
      409,
      { code: 'CONFLICT', message: 'The object is being changed by another request' },
    ])
    expect((await send()).statusCode).toBe(done)
  },
)
