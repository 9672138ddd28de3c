import { createNoopMeter } from '@opentelemetry/api'
import { anyId, anyTime } from '@trestle/testing/any-text.ts'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { customerPayment } from '../../test/customer-payment.ts'
import { settle } from '../../test/live-merchant.ts'
import { capture } from '../../test/operations.ts'
import {
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../test/payments-app.ts'
import { createStubAcquirer, type StubAcquirer } from '../../test/stub-acquirer.ts'
import { type AcquirerEvent, EVENTS_MAX, NO_MERCHANT } from '../acquirers/acquirer.ts'
import { applyAcquirerEvents } from './apply-acquirer-events.ts'

let north: StubAcquirer
let payments: TestPayments
let app: TestApp
let merchantId: string
let transactionId: string
let acquirerRef: string
beforeAll(async () => {
  north = createStubAcquirer()
  payments = await startPayments({ acquirers: new Map([['north', north]]) })
  app = await createTestApp(payments)
})
afterAll(() => payments.close())
beforeEach(async () => {
  merchantId = (await createTestMerchant(payments, app, { currency: 'EUR' })).id
  await settle(db(), merchantId, { acquirer: 'north' })
  const source = await customerPayment(payments, merchantId, { number: '4242424242424242' })
  const charge = await payments.app.inject({
    method: 'POST',
    url: `/merchants/${merchantId}/transactions`,
    headers: app.headers,
    payload: { transactionId: source, currency: 'EUR', amount: 500 },
  })
  transactionId = charge.json().transaction.id
  await capture(payments, app, transactionId, 300)
  const row = await db()
    .selectFrom('transactions')
    .select('acquirer_ref')
    .where('id', '=', transactionId)
    .executeTakeFirst()
  acquirerRef = row?.acquirer_ref ?? ''
  north.received.acknowledged.length = 0
})

const db = () => payments.database.db
const logger = pino({ enabled: false })
const counter = createNoopMeter().createCounter('events')
const eventDeps = () => ({ ...payments.deps, db: db(), logger, counter })
const apply = async (...events: AcquirerEvent[]) => {
  north.answers.events = events
  return applyAcquirerEvents(eventDeps(), { name: 'north', acquirer: north, limit: EVENTS_MAX })
}
const get = async (url: string) => (await payments.app.inject({ url, headers: app.headers })).json()
/** The name for exceptions about waiting events, which contain no problem. */
const WAITS = 'events wait'
const Problem = z.object({ problem: z.string().default(WAITS) })
/** Returns the problems of the merchant's open exceptions. */
const problems = async () => {
  const open = db().selectFrom('acquirer_exceptions').select('payload').where('resolved', 'is', null)
  const rows = await open.where('merchant_id', '=', merchantId).execute()
  return rows.map(({ payload }) => Problem.parse(payload).problem)
}
const opened = (reference: string, amount = 100, reasonCode?: number) =>
  ({ type: 'dispute.opened', reference, merchantId, acquirerRef, amount, reasonCode }) as const
const closed = (reference: string, disputeReference: string, outcome: 'won' | 'lost') =>
  ({ type: `dispute.${outcome}`, reference, merchantId, disputeReference }) as const

describe('applyAcquirerEvents', () => {
  it('opens and closes disputes, keeps alerts of fraud, and acknowledges', async () => {
    const fraud = { type: 'fraud', reference: 'f1', merchantId, acquirerRef, reason: 6 } as const
    await apply(opened('d1', 100, 4837), opened('d2', 50, 7), closed('e1', 'd1', 'lost'), {
      ...fraud,
      reported: '2026-01-02T03:04:05.000Z',
    })
    expect(north.received.acknowledged).toEqual(['d1', 'd2', 'e1', 'f1'])
    const disputes = await get(`/disputes?limit=9&filter[merchantId]=${merchantId}`)
    expect(disputes).toEqual([
      {
        transactionId,
        amount: 50,
        reason: { code: 4853, title: 'Cardholder dispute' },
        status: 'open',
        id: anyId,
        merchantId,
        created: anyTime,
        currency: 'EUR',
        due: anyTime,
      },
      {
        transactionId,
        amount: 100,
        reason: { code: 4837, title: 'No cardholder authorization' },
        status: 'lost',
        id: anyId,
        merchantId,
        created: anyTime,
        currency: 'EUR',
        due: anyTime,
        resolved: anyTime,
      },
    ])
    expect(await get(`/frauds?limit=9&filter[merchantId]=${merchantId}`)).toEqual([
      { transactionId, reason: 6, reported: '2026-01-02T03:04:05.000Z', id: anyId, merchantId, created: anyTime },
    ])
    expect(await problems()).toEqual([])
  })

  it('applies each event once, however often it comes and to however many processes', async () => {
    const events = [
      opened('d1'),
      closed('e1', 'd1', 'lost'),
      { type: 'fraud', reference: 'f1', merchantId, acquirerRef, reason: undefined, reported: undefined } as const,
    ]
    await Promise.all(Array.from({ length: 5 }, () => apply(...events)))
    await apply(...events)
    expect(await get(`/disputes?limit=9&filter[merchantId]=${merchantId}`)).toHaveLength(1)
    expect(await get(`/frauds?limit=9&filter[merchantId]=${merchantId}`)).toHaveLength(1)
    const kinds = await db()
      .selectFrom('trail_entries')
      .select('kind')
      .where('transaction_id', '=', transactionId)
      .orderBy('seq')
      .execute()
    expect(kinds).toEqual([{ kind: 'capture' }, { kind: 'disputeLost' }])
    expect(await problems()).toEqual([])
  })

  it('keeps an event that contradicts the books for the operator, once, and posts nothing', async () => {
    const events = [
      opened('d1', 1_000_000_000_000),
      { ...opened('d2'), acquirerRef: 'n-other' },
      closed('e1', 'd9', 'won'),
      { type: 'settlement', reference: 's1', merchantId: UNKNOWN_ID, money: { currency: 'EUR', amount: 1 } } as const,
    ]
    for (const _ of [1, 2]) await apply(...events)
    expect((await problems()).sort()).toEqual([
      'above the largest amount of a dispute',
      'unknown dispute',
      'unknown transaction',
    ])
    expect(north.received.acknowledged).toHaveLength(8)
    expect(await get(`/disputes?limit=9&filter[merchantId]=${merchantId}`)).toEqual([])
    await apply(opened('d3'), closed('e2', 'd3', 'won'), closed('e3', 'd3', 'lost'))
    expect(await problems()).toContain('conflict')
  })

  it('applies an event only to a transaction that its acquirer has authorized', async () => {
    await db().updateTable('transactions').set({ acquirer: 'south' }).where('id', '=', transactionId).execute()
    await apply(opened('d1'))
    expect(await problems()).toEqual(['unknown transaction'])
  })

  it('books a settlement once for each reference', async () => {
    const settlement = (reference: string, amount: number) =>
      ({ type: 'settlement', reference, merchantId, money: { currency: 'EUR', amount } }) as const
    await apply(settlement('s1', 280), settlement('s2', -20))
    await apply(settlement('s1', 280))
    const entries = await db()
      .selectFrom('entries')
      .select(['account', 'currency', 'amount'])
      .where('merchant_id', '=', merchantId)
      .where('account', 'in', ['scheme_receivable', 'bank'])
      .orderBy('journal_id')
      .orderBy('seq')
      .execute()
    expect(entries.map(({ account, amount }) => [account, amount])).toEqual([
      ['scheme_receivable', -300n],
      ['scheme_receivable', 280n],
      ['bank', -280n],
      ['scheme_receivable', -20n],
      ['bank', 20n],
    ])
  })

  it('refuses settlements that cannot be right, books nothing, and keeps them for the operator', async () => {
    const settlement = (reference: string, money: object) =>
      ({ type: 'settlement', reference, merchantId, money: { currency: 'EUR', amount: 1, ...money } }) as const
    await apply(
      settlement('s1', { currency: 'ZZZ' }),
      settlement('s2', { amount: -100 }),
      settlement('s3', { amount: 9_007_199_254_740_991 }),
      settlement('s4', { amount: 301 }),
      settlement('s5', { currency: 'USD' }),
      settlement('s6', { amount: 300 }),
      settlement('s7', { amount: 1 }),
      settlement('s8', { amount: -301 }),
      settlement('s9', { amount: -300 }),
    )
    expect((await problems()).toSorted()).toEqual([
      ...Array.from({ length: 4 }, () => 'more than the captures that are not settled'),
      'takes back more than was settled and refunded',
      'takes back more than was settled and refunded',
      'unknown currency',
    ])
    const booked = await db()
      .selectFrom('entries')
      .select('amount')
      .where('merchant_id', '=', merchantId)
      .where('account', '=', 'bank')
      .orderBy('journal_id')
      .execute()
    expect(booked).toEqual([{ amount: -300n }, { amount: 300n }])
  })

  it('takes settlements of a merchant only from an acquirer that has authorized payments of the merchant', async () => {
    const settlement = {
      type: 'settlement',
      reference: 's1',
      merchantId,
      money: { currency: 'EUR', amount: 5 },
    } as const
    north.answers.events = [settlement]
    const apply = (name: string) => applyAcquirerEvents(eventDeps(), { name, acquirer: north, limit: EVENTS_MAX })
    await apply('south')
    expect(await problems()).toEqual(['the merchant has nothing with this acquirer'])
    const { id } = await createTestMerchant(payments, app, { currency: 'EUR', test: true })
    north.answers.events = [{ ...settlement, merchantId: id }]
    await apply('north')
    const exceptions = db().selectFrom('acquirer_exceptions').select('payload').where('merchant_id', '=', id)
    expect(await exceptions.execute()).toEqual([
      {
        payload: {
          problem: 'a test merchant has no settlements',
          type: 'settlement',
          money: { amount: 5, currency: 'EUR' },
          acquirer: 'north',
          reference: 's1',
          merchantId: id,
        },
      },
    ])
  })

  it('keeps an event with values that cannot be booked for the operator, and applies the events after it', async () => {
    const nothing = { type: 'settlement', reference: 's1', merchantId, money: { currency: 'EUR', amount: 0 } } as const
    await apply(nothing, opened('d1'))
    expect(north.received.acknowledged).toEqual(['s1', 'd1'])
    expect(await problems()).toEqual(['a settlement of nothing'])
    expect(await get(`/disputes?limit=9&filter[merchantId]=${merchantId}`)).toHaveLength(1)
  })

  it('keeps an event of an unknown type for the operator', async () => {
    await apply({ type: 'unknown', kind: 'fee', reference: 'u1', merchantId })
    expect([await problems(), north.received.acknowledged]).toEqual([['of no known kind or form'], ['u1']])
  })

  it.each<[string, object]>([
    ['a reference with U+0000', { reference: 'x\0y' }],
    ['a kind with U+0000', { kind: 'a\0' }],
    ['a kind with a lone surrogate', { kind: 'a\ud800' }],
    ['a merchant that does not exist', { merchantId: NO_MERCHANT }],
  ])('keeps an unknown event with %s for the operator, and applies the events around it', async (_name, changes) => {
    const event = { type: 'unknown', kind: 'fee', reference: `u-${merchantId}`, merchantId, ...changes } as const
    await apply(opened('d1'), event, opened('d2'))
    expect(north.received.acknowledged).toEqual(['d1', event.reference, 'd2'])
    expect(await get(`/disputes?limit=9&filter[merchantId]=${merchantId}`)).toHaveLength(2)
    const exceptions = db()
      .selectFrom('acquirer_exceptions')
      .select('payload')
      .where('merchant_id', '=', event.merchantId)
    expect(await exceptions.execute()).toEqual([
      {
        payload: {
          problem: 'of no known kind or form',
          kind: expect.any(String),
          type: 'unknown',
          acquirer: 'north',
          reference: expect.any(String),
          merchantId: event.merchantId,
        },
      },
    ])
  })

  it('applies no event to one of two transactions that have the same reference', async () => {
    // The customer's own payment is the second transaction of this merchant. Give it the same reference.
    await db()
      .updateTable('transactions')
      .set({ acquirer: 'north', acquirer_ref: acquirerRef })
      .where('merchant_id', '=', merchantId)
      .execute()
    await apply(opened('d1'), {
      type: 'fraud',
      reference: 'f1',
      merchantId,
      acquirerRef,
      reason: 1,
      reported: undefined,
    })
    expect(await problems()).toEqual(Array.from({ length: 2 }, () => 'several transactions have this reference'))
    expect(await get(`/disputes?limit=9&filter[merchantId]=${merchantId}`)).toEqual([])
    expect(await get(`/frauds?limit=9&filter[merchantId]=${merchantId}`)).toEqual([])
  })

  it('holds up only the later events of the merchant whose event fails, and acknowledges the others', async () => {
    const { id: neighbour } = await createTestMerchant(payments, app, { currency: 'EUR' })
    const { write } = payments.deps.pools
    const one: typeof write.one = (query, input) =>
      query.name === 'open_dispute' ? Promise.reject(new Error('of this event alone')) : write.one(query, input)
    north.answers.events = [
      opened('d1'),
      closed('e1', 'd1', 'won'),
      { type: 'unknown', kind: 'fee', reference: 'u1', merchantId: neighbour },
    ]
    const pools = { ...payments.deps.pools, write: { ...write, one } }
    await applyAcquirerEvents({ ...eventDeps(), pools }, { name: 'north', acquirer: north, limit: EVENTS_MAX })
    expect([north.received.acknowledged, await problems()]).toEqual([['u1'], [WAITS]])
    await apply(...north.answers.events)
    expect(north.received.acknowledged).toEqual(['u1', 'd1', 'e1', 'u1'])
    expect(await problems()).toEqual([])
  })

  it.each<[string, AcquirerEvent['type']]>([
    ['opens a dispute', 'dispute.opened'],
    ['closes a dispute', 'dispute.won'],
    ['reports a fraud', 'fraud'],
  ])('does not acknowledge an event that %s of which the database knows nothing', async (_name, type) => {
    await apply(opened('d1'))
    north.received.acknowledged.length = 0
    const { write } = payments.deps.pools
    const one: typeof write.one = (query, input) =>
      write.one(query, { ...input, transactionId: UNKNOWN_ID, disputeId: UNKNOWN_ID })
    north.answers.events = [
      opened('d2'),
      closed('e1', 'd1', 'won'),
      { type: 'fraud', reference: 'f1', merchantId, acquirerRef, reason: 6, reported: undefined } as const,
    ].filter((event) => event.type === type)
    const pools = { ...payments.deps.pools, write: { ...write, one } }
    await applyAcquirerEvents({ ...eventDeps(), pools }, { name: 'north', acquirer: north, limit: EVENTS_MAX })
    expect([north.received.acknowledged, await problems()]).toEqual([[], [WAITS]])
    await apply(...north.answers.events)
    expect(north.received.acknowledged).toHaveLength(1)
  })

  it('asks for the next list when a list was full', async () => {
    const event = (n: number) => ({ type: 'unknown', kind: 'fee', reference: `u${n}`, merchantId }) as const
    expect(await apply(...Array.from({ length: EVENTS_MAX - 1 }, (_, n) => event(n)))).toBe(undefined)
    expect(await apply(...Array.from({ length: EVENTS_MAX }, (_, n) => event(n)))).toBe(EVENTS_MAX)
  })

  it('acknowledges no event while the database does not answer', async () => {
    const pools = { ...payments.deps.pools, write: brokenPool }
    north.answers.events = [opened('d1')]
    await expect(
      applyAcquirerEvents({ ...eventDeps(), pools }, { name: 'north', acquirer: north, limit: EVENTS_MAX }),
    ).rejects.toThrow('terminated')
    expect(north.received.acknowledged).toEqual([])
  })
})

const away = () => Promise.reject(new Error('Connection terminated'))
const brokenPool = { one: away, first: away, all: away }
