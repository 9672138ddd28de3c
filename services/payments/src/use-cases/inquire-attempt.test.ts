import { setImmediate } from 'node:timers/promises'
import { sql } from 'kysely'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { operationException, statusAndBody } from '../../test/bodies.ts'
import { customerPayment } from '../../test/customer-payment.ts'
import { capture } from '../../test/operations.ts'
import {
  createTestApp,
  createTestMerchant,
  placement,
  startPayments,
  type TestApp,
  type TestPayments,
} from '../../test/payments-app.ts'
import { countRowsRead } from '../../test/rows-read.ts'
import { createStubAcquirer, type StubAcquirer } from '../../test/stub-acquirer.ts'
import { processingError } from '../transactions/processing-error.ts'
import { endLostAttempts } from './end-lost-attempts.ts'
import { inquireAttempt } from './inquire-attempt.ts'
import { submitOperation } from './submit-operation.ts'

let north: StubAcquirer
let payments: TestPayments
let app: TestApp
let merchantId: string
let source: string
const errors: string[] = []
const logger = pino({ level: 'error' }, { write: (line) => void errors.push(JSON.parse(line).msg) })
beforeAll(async () => {
  north = createStubAcquirer()
  payments = await startPayments({ acquirers: new Map([['north', north]]) })
  app = await createTestApp(payments)
  merchantId = (await createTestMerchant(payments, app, { currency: 'EUR' })).id
  await db().updateTable('merchants').set({ acquirer: 'north' }).where('id', '=', merchantId).execute()
  source = await customerPayment(payments, merchantId, { number: '4242424242424242' })
})
afterAll(() => payments.close())
beforeEach(() => {
  Object.assign(north.answers, createStubAcquirer().answers)
  for (const list of Object.values(north.received)) list.length = 0
  errors.length = 0
})

const db = () => payments.database.db
const charge = (headers: object = {}) =>
  payments.app.inject({
    method: 'POST',
    url: `/merchants/${merchantId}/transactions`,
    headers: { ...app.headers, ...headers },
    payload: { transactionId: source, currency: 'EUR', amount: 500 },
  })
const stateOf = async (id: string) =>
  (await db().selectFrom('attempts').select('state').where('id', '=', id).executeTakeFirst())?.state
/** Returns the exceptions about an attempt or an operation. */
const exceptionsOf = async (id: string) => {
  const rows = db().selectFrom('acquirer_exceptions').select('payload').where('merchant_id', '=', merchantId)
  const about = sql<string>`coalesce(payload ->> 'attemptId', payload ->> 'operationId')`
  return (await rows.where(about, '=', id).execute()).map(({ payload }) => payload)
}
const LOST = [400, processingError(12)]

/** Creates an attempt whose answer from the acquirer was lost. Returns its id. */
async function unknownAttempt(): Promise<string> {
  north.answers.authorize = () => Promise.reject(new Error('reset'))
  expect(statusAndBody(await charge())).toEqual(LOST)
  const [request] = north.received.authorizations.splice(0)
  return request?.idempotencyRef ?? ''
}

describe('inquireAttempt', () => {
  interface Sent {
    readonly job: object
    readonly startAfterSeconds: number | undefined
  }
  const sent: Sent[] = []
  const jobs = {
    open: unused,
    run: unused,
    prepare: unused,
    insert: unused,
    reprioritize: unused,
    wake: unused,
    work: unused,
    retryDeadLetterJobs: unused,
    schedule: unused,
    check: unused,
    close: unused,
    send: async (_trx: unknown, _task: unknown, job: object, options?: { startAfterSeconds?: number }) => {
      sent.push({ job, startAfterSeconds: options?.startAfterSeconds })
      return 'job'
    },
  }
  function unused(): never {
    throw new Error('not asked for here')
  }
  beforeEach(() => {
    sent.length = 0
  })
  const inquire = (id: string, step?: number) =>
    inquireAttempt(
      { ...payments.deps, db: db(), jobs, logger },
      { merchantId, id, ...(step === undefined ? {} : { step }) },
    )

  it('asks the acquirer after 10 s, 1 min, 10 min, 1 h, 6 h and 24 h, and then leaves the attempt to the operator', async () => {
    const id = await unknownAttempt()
    await inquire(id)
    expect(north.received.inquiries).toEqual([])
    for (const step of [0, 1, 2, 3, 4, 5]) await inquire(id, step)
    expect(north.received.inquiries).toHaveLength(6)
    expect(sent.map(({ job }) => job)).toEqual([0, 1, 2, 3, 4, 5].map((step) => ({ merchantId, id, step })))
    const delays = sent.map(({ startAfterSeconds = 0 }) => startAfterSeconds)
    expect(delays.map((_, index) => delays.slice(0, index + 1).reduce((a, b) => a + b))).toEqual([
      10, 60, 600, 3_600, 21_600, 86_400,
    ])
    expect(errors).toEqual(['the outcome of an attempt is unknown for good'])
    expect(await stateOf(id)).toBe('unknown')
  })

  it('asks at once about the attempt of a process that has ended', async () => {
    const id = await unknownAttempt()
    const lost = sql`now() - interval '16 seconds'`
    await sql`UPDATE ${sql.table('attempts')} SET created = ${lost} WHERE id = ${id}`.execute(db())
    expect(await inquire(id)).toBe('done')
    expect([north.received.inquiries, sent]).toEqual([
      [id],
      [{ job: { merchantId, id, step: 1 }, startAfterSeconds: 50 }],
    ])
  })

  it('closes an attempt that was declined, or that never reached the acquirer', async () => {
    const id = await unknownAttempt()
    north.answers.inquire = async () => ({ verdict: 'declined', statusCode: 'PAYMENT_METHOD_ERROR' })
    expect(await inquire(id, 0)).toBe('done')
    expect([await stateOf(id), sent]).toEqual(['declined', []])
    expect(await inquire(id, 1)).toBe('dropped')
    expect(north.received.inquiries).toEqual([id])
  })

  it('gives back an approval that no client was told of, and never makes it a transaction', async () => {
    const id = await unknownAttempt()
    north.answers.inquire = async () => ({ verdict: 'approved', ref: 'late', networkRef: null })
    north.answers.reverse = async () => ({ verdict: 'retry' })
    await inquire(id, 0)
    expect([await stateOf(id), sent.length]).toEqual(['unknown', 1])
    north.answers.reverse = async () => ({ verdict: 'accepted' })
    await inquire(id, 1)
    expect([await stateOf(id), north.received.givenBack]).toEqual(['reversed', [id, id]])
    const approved = await db().selectFrom('transactions').select('id').where('acquirer_ref', '=', 'late').execute()
    expect(approved).toEqual([])
  })

  it('keeps an approval that the acquirer does not take back for the operator, once, and gives it back again later', async () => {
    const id = await unknownAttempt()
    north.answers.inquire = async () => ({ verdict: 'approved', ref: 'late', networkRef: null })
    north.answers.reverse = async () => ({ verdict: 'rejected', reason: 'too late' })
    for (const step of [0, 1]) await inquire(id, step)
    expect(await exceptionsOf(id)).toEqual([
      { type: 'reversal', attemptId: id, kind: 'charge', currency: 'EUR', amount: 500, reason: 'too late' },
    ])
    expect([await stateOf(id), sent.length]).toEqual(['unknown', 2])
  })

  it('treats an acquirer that fails as one that does not know the outcome', async () => {
    const id = await unknownAttempt()
    north.answers.inquire = () => Promise.reject(new Error('reset'))
    expect(await inquire(id, 0)).toBe('done')
    north.answers.inquire = async () => ({ verdict: 'approved', ref: 'late', networkRef: null })
    north.answers.reverse = () => Promise.reject(new Error('reset'))
    expect(await inquire(id, 1)).toBe('done')
    expect(sent).toEqual([
      { job: { merchantId, id, step: 1 }, startAfterSeconds: 50 },
      { job: { merchantId, id, step: 2 }, startAfterSeconds: 540 },
    ])
    expect(await stateOf(id)).toBe('unknown')
  })
})

let hasJustRebalanced = false
let seen: ReadonlySet<string> = new Set()
const look = async () => {
  const deps = { ...payments.deps, placement: { ...placement, hasJustRebalanced: () => hasJustRebalanced }, db: db() }
  seen = await endLostAttempts(deps, seen)
}

describe('endLostAttempts', () => {
  const age = (id: string) =>
    sql`UPDATE ${sql.table('attempts')} SET created = now() - interval '16 seconds' WHERE id = ${id}`.execute(db())

  it('marks an attempt without an answer as unknown, answers repeats with that, and ignores a late answer', async () => {
    const [answered, reached] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    north.answers.authorize = async () => {
      reached.resolve()
      await answered.promise
      return { verdict: 'approved', ref: 'much-later', networkRef: null }
    }
    const first = charge({ 'idempotency-key': 'lost' })
    await reached.promise
    const id = north.received.authorizations[0]?.idempotencyRef ?? ''
    for (const _ of [1, 2]) await look()
    expect(await stateOf(id)).toBe('sent')
    await age(id)
    await look()
    // The process of the attempt may have held back the answer during the rebalance.
    hasJustRebalanced = true
    await look()
    hasJustRebalanced = false
    await look()
    // The process of the attempt may wait for the database, which has become available since the last scan.
    expect(await stateOf(id)).toBe('sent')
    await look()
    expect(await stateOf(id)).toBe('unknown')
    answered.resolve()
    const answer = await first
    expect(statusAndBody(answer)).toEqual(LOST)
    const again = await charge({ 'idempotency-key': 'lost' })
    expect([again.body, again.headers['idempotent-replayed']]).toEqual([answer.body, 'true'])
    expect(north.received.authorizations).toHaveLength(1)
    const rows = await db().selectFrom('transactions').select('id').where('acquirer_ref', '=', 'much-later').execute()
    expect(rows).toEqual([])
    const outbox = await db().selectFrom('outbox').select(['kind']).where('id', '=', id).execute()
    expect(outbox).toEqual([{ kind: 'inquiry' }])
  })
})

describe('endLostAttempts, when many attempts are unknown', () => {
  it('looks at none of these', async () => {
    await sql`
      INSERT INTO ${sql.table('attempts')} (merchant_id, id, created, kind, state, request)
      SELECT ${merchantId}, lpad(to_hex(n), 16, '0') || right(${merchantId}, 8), now() - interval '1 hour', 'charge', 'unknown',
        '{"amount":1}' FROM generate_series(1, 500) n`.execute(db())
    await sql`ANALYZE payments.attempts`.execute(db())
    const deps = { ...payments.deps, placement: { ...placement, hasJustRebalanced: () => false } }
    const read = await countRowsRead(payments, 'attempts', (_pools, trx) =>
      endLostAttempts({ ...deps, db: trx }, new Set()),
    )
    expect(read).toEqual({ found: new Set(), rows: 0 })
  })
})

describe('endLostAttempts, when one attempt is locked', () => {
  it('goes on with the attempts behind it', async () => {
    const ids: string[] = []
    north.answers.authorize = () => new Promise(() => {})
    const requests = [charge(), charge()]
    while (north.received.authorizations.length < 2) await setImmediate()
    for (const { idempotencyRef } of north.received.authorizations) ids.push(idempotencyRef)
    await sql`UPDATE ${sql.table('attempts')} SET created = now() - interval '2 minutes' WHERE id = ANY (${ids})`.execute(
      db(),
    )
    const [first = '', second = ''] = ids.toSorted()
    await look()
    await db()
      .transaction()
      .execute(async (trx) => {
        await trx
          .selectFrom('attempts')
          .select('id')
          .where('merchant_id', '=', merchantId)
          .where('id', '=', first)
          .forUpdate()
          .execute()
        await look()
      })
    expect([await stateOf(first), await stateOf(second)]).toEqual(['sent', 'unknown'])
    await look()
    expect(await stateOf(first)).toBe('unknown')
    for (const request of requests) void request.catch(() => {})
  })
})

describe('submitOperation', () => {
  async function captured(): Promise<string> {
    const { transaction } = (await charge()).json()
    await capture(payments, app, transaction.id, 200)
    const { id } = await db()
      .selectFrom('trail_entries')
      .select('id')
      .where('transaction_id', '=', transaction.id)
      .executeTakeFirstOrThrow()
    return id
  }
  const submit = (id: string) => submitOperation({ ...payments.deps, db: db(), logger }, { merchantId, id })

  it('sends a capture under the id of its trail entry, and fails while the acquirer cannot take it', async () => {
    const id = await captured()
    expect(await db().selectFrom('outbox').select('kind').where('id', '=', id).execute()).toEqual([
      { kind: 'acquirer' },
    ])
    north.answers.submit = async () => ({ verdict: 'retry' })
    await expect(submit(id)).rejects.toThrow('acquirer north wants the operation later')
    north.answers.submit = async () => ({ verdict: 'accepted' })
    expect(await submit(id)).toBe('done')
    const [task, again] = north.received.tasks
    expect(task).toEqual({
      kind: 'capture',
      operationId: id,
      merchantId,
      transactionId: task?.transactionId,
      descriptor: 'Coffee & John',
      money: { currency: 'EUR', amount: 200 },
      acquirerRef: expect.stringMatching(/^n-[0-9a-f]{24}$/),
    })
    expect(again).toEqual(task)
  })

  it('keeps a capture that the acquirer refuses for the operator, once', async () => {
    const id = await captured()
    north.answers.submit = async () => ({ verdict: 'rejected', reason: 'closed account' })
    for (const _ of [1, 2]) expect(await submit(id)).toBe('done')
    expect(await exceptionsOf(id)).toEqual([
      operationException({
        kind: 'capture',
        type: 'operation',
        money: { amount: 200, currency: 'EUR' },
        reason: 'closed account',
        acquirer: 'north',
        merchantId,
        operationId: id,
      }),
    ])
    expect(errors).toEqual(['the acquirer did not accept an operation'])
  })

  it('waits while the acquirer is not configured', async () => {
    const id = await captured()
    const { transaction_id } = await db()
      .selectFrom('trail_entries')
      .select('transaction_id')
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    await db().updateTable('transactions').set({ acquirer: 'gone' }).where('id', '=', transaction_id).execute()
    await expect(submit(id)).rejects.toThrow('acquirer gone is not configured')
  })
})
