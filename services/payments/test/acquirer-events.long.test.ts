import { sql } from 'kysely'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { EVENTS_MAX } from '../src/acquirers/acquirer.ts'
import { createHttpAcquirer } from '../src/acquirers/http-acquirer.ts'
import { disputesCommand, fraudsCommand } from '../src/commands/disputes.ts'
import { adjustCommand } from '../src/commands/merchants.ts'
import { applyAcquirerEvents } from '../src/use-cases/apply-acquirer-events.ts'
import { createLiveMerchant, type LiveMerchant, settle } from './live-merchant.ts'
import {
  createTestApp,
  createTestMerchant,
  operatorDeps,
  startPayments,
  type TestApp,
  type TestPayments,
} from './payments-app.ts'
import { commandRunner } from './run-command.ts'
import { createStubAcquirer } from './stub-acquirer.ts'

const north = createStubAcquirer()
let payments: TestPayments
let app: TestApp
let merchant: LiveMerchant
/** A captured transaction of EUR 10.00, and the acquirer's reference for it. */
let transactionId: string
let acquirerRef: string
beforeAll(async () => {
  payments = await startPayments({ acquirers: new Map([['north', north]]) })
  app = await createTestApp(payments)
})
afterAll(() => payments.close())
beforeEach(async () => {
  merchant = await createLiveMerchant(payments, app, { north })
  transactionId = await merchant.charge(1_000)
  await merchant.answer(await merchant.book('capture', transactionId, 1_000), { verdict: 'accepted' })
  const { db } = payments.database
  const query = db.selectFrom('transactions').select('acquirer_ref').where('id', '=', transactionId)
  acquirerRef = (await query.executeTakeFirstOrThrow()).acquirer_ref ?? ''
  list = []
})

const { run } = commandRunner([adjustCommand, disputesCommand, fraudsCommand], () => operatorDeps(payments))

/** The events that the bridge returns until they are acknowledged. */
let list: { readonly reference: string }[] = []
const bridge = createHttpAcquirer({
  url: 'https://bridge.example',
  secret: 'secret',
  outbound: {
    send: async ({ method, url, body }) => {
      const limit = Number(new URL(url).searchParams.get('limit'))
      if (method === 'GET')
        return { status: 200, body: JSON.stringify(list.slice(0, limit)), contentType: 'application/json' }
      const { references } = JSON.parse(String(body))
      list = list.filter(({ reference }) => !references.includes(reference))
      return { status: 204, body: '', contentType: 'application/json' }
    },
  },
})

/** Applies the bridge's events, as its job does every minute. */
async function report(...events: object[]): Promise<void> {
  const placed = { merchantId: merchant.id, acquirerRef }
  list.push(...events.map((event) => ({ reference: '', ...placed, ...event })))
  const { pools } = payments.deps
  const deps = { db: payments.service.db, pools, logger: pino({ enabled: false }), counter: { add: () => {} } }
  let limit: number | undefined = EVENTS_MAX
  while (limit !== undefined) limit = await applyAcquirerEvents(deps, { name: 'north', acquirer: bridge, limit })
}

const opened = (reference: string, changes: object = {}) => ({
  ...{ type: 'dispute.opened', reference, amount: 1_000, ...changes },
})
const closed = (reference: string, disputeReference: string, outcome: 'won' | 'lost') => ({
  ...{ type: `dispute.${outcome}`, reference, disputeReference },
})
const disputes = async () => {
  const url = `/disputes?limit=9&filter[merchantId]=${merchant.id}`
  const rows: { status: string; amount: number; excess?: number }[] = (
    await payments.app.inject({ url, headers: app.headers })
  ).json()
  return rows.map(({ status, amount, excess }) => [status, amount, excess ?? 0])
}
const frauds = async () =>
  (await payments.app.inject({ url: `/frauds?limit=9&filter[merchantId]=${merchant.id}`, headers: app.headers })).json()
const reserve = async (merchantId = merchant.id): Promise<number> => {
  const { rows } = await sql<{ reserve: bigint }>`
    SELECT ${sql.table('dispute_reserve')}(${merchantId}) AS reserve`.execute(payments.owner.db)
  return Number(rows[0]?.reserve)
}

const DISPUTE_FEE = 2_500

describe('the reference of an acquirer', () => {
  const onPaper = () => run('disputes', 'open', transactionId, '--reference', 'CB-1', '--amount', '1000')
  const asEvent = () => report(opened('CB-1'))

  it.each([
    ['paper first', onPaper, asEvent],
    ['the event first', asEvent, onPaper],
  ])('opens one dispute for a paper and an event: %s', async (_title, first, second) => {
    await first()
    await second()
    expect([await disputes(), await reserve()]).toEqual([[['open', 1_000, 0]], 1_000])
    const before = await merchant.balance()
    await report(closed('CB-1-end', 'CB-1', 'lost'))
    expect([await disputes(), await merchant.balance()]).toEqual([[['lost', 1_000, 0]], before - 1_000 - DISPUTE_FEE])
    expect([await merchant.exceptions(), await merchant.violations()]).toEqual([[], []])
  })

  it('keeps one fraud alert for a paper and an event', async () => {
    await run('frauds', 'add', transactionId, '--reference', 'F-1')
    await report({ type: 'fraud', reference: 'F-1' })
    await report({ type: 'fraud', reference: 'F-2' })
    await run('frauds', 'add', transactionId, '--reference', 'F-2')
    expect(await frauds()).toHaveLength(2)
  })
})

describe('a dispute in another form than that of the reference', () => {
  it.each([
    ['null for members that are absent', { currency: null, reasonCode: null }],
    ['a reason that is no number', { reasonCode: '4837' }],
  ])('is opened with %s', async (_title, changes) => {
    await report(opened('D1', changes))
    expect([await disputes(), await reserve(), await merchant.exceptions()]).toEqual([[['open', 1_000, 0]], 1_000, []])
  })

  it.each<[string, object, number]>([
    ['its amount, without a reference of the authorization', { acquirerRef: null, amount: 300 }, 300],
    ['the whole balance, for a currency in lower case', { currency: 'eur' }, 961],
    ['the whole balance, for an amount in quotes', { amount: '1000' }, 961],
    ['the whole balance, for an amount with decimals', { amount: 1_000.5 }, 961],
    ['the whole balance, for an amount that no dispute may have', { amount: 9_007_199_254_740_991 }, 961],
  ])('holds back %s, also when the right form comes', async (_title, changes, held) => {
    await report(opened('D1', changes))
    expect([await reserve(), (await merchant.exceptions()).length]).toEqual([held, 1])
    await report(opened('D1'))
    expect([await disputes(), await reserve(), list]).toEqual([[], held, []])
    expect(await merchant.violations()).toEqual([])
  })

  it('is shown to the operator as it was received, without card numbers', async () => {
    await report(opened('D1', { amount: '1000', card: '4111111111111111' }))
    const [exception] = await merchant.exceptions()
    expect(exception).toEqual({
      ...{ type: 'unknown', kind: 'dispute.opened', reference: 'D1', merchantId: merchant.id, acquirer: 'north' },
      ...{ problem: 'of no known kind or form', disputed: null, received: expect.stringContaining('"amount":"1000"') },
    })
    expect(JSON.stringify(exception)).not.toContain('4111111111111111')
  })
})

describe('an exception that holds back nothing', () => {
  const fraudOfNobody = { type: 'fraud', reference: 'D1', acquirerRef: 'n-nobody' }
  const open = async () => {
    const { db } = payments.database
    const rows = db.selectFrom('acquirer_exceptions').select('id').where('merchant_id', '=', merchant.id)
    return (await rows.where('resolved', 'is', null).execute()).length
  }

  it('is resolved by the dispute that comes under its reference', async () => {
    await report(fraudOfNobody)
    expect([await reserve(), await open()]).toEqual([0, 1])
    await report(opened('D1'))
    expect([await disputes(), await reserve(), await open()]).toEqual([[['open', 1_000, 0]], 1_000, 0])
  })

  it.each<[string, object, object]>([
    ['a fraud alert', { type: 'fraud', reference: 'R', reason: 99 }, { type: 'fraud', reference: 'R', reason: 1 }],
    [
      'a settlement',
      { type: 'settlement', reference: 'R', money: { currency: 'EUR', amount: 1_001 } },
      { type: 'settlement', reference: 'R', money: { currency: 'EUR', amount: 1_000 } },
    ],
  ])('is resolved by %s that comes under its reference in its right form', async (_title, wrong, right) => {
    await report(wrong)
    expect(await open()).toBe(1)
    await report(right)
    expect([await open(), (await merchant.exceptions()).length, await merchant.violations()]).toEqual([0, 1, []])
  })

  it.each(['won', 'lost'] as const)('is resolved by a dispute that is %s, and was unknown before', async (outcome) => {
    await report(closed('E1', 'CB-1', outcome), closed('E2', 'CB-1', outcome))
    expect(await open()).toBe(1)
    await run('disputes', 'open', transactionId, '--reference', 'CB-1', '--amount', '1000')
    await report(closed('E3', 'CB-1', outcome))
    expect([await open(), await disputes(), await merchant.violations()]).toEqual([0, [[outcome, 1_000, 0]], []])
  })

  it.each([
    ['won', 'lost'],
    ['lost', 'won'],
  ] as const)('stays open where a dispute that was reported as %s is %s', async (reported, outcome) => {
    await report(closed('E1', 'CB-1', reported))
    await run('disputes', 'open', transactionId, '--reference', 'CB-1', '--amount', '1000')
    await report(closed('E2', 'CB-1', outcome))
    expect([await open(), await disputes()]).toEqual([1, [[outcome, 1_000, 0]]])
  })

  it('gives way to that of a dispute which cannot be opened', async () => {
    await report(fraudOfNobody)
    await report(opened('D1', { acquirerRef: 'n-nobody', amount: 300 }))
    expect([await disputes(), await reserve(), await open()]).toEqual([[], 300, 1])
  })
})

it('a dispute that is lost after it was won is held back once, whatever references its loss has', async () => {
  await report(opened('D1'), closed('E1', 'D1', 'won'), closed('L1', 'D1', 'lost'), closed('L2', 'D1', 'lost'))
  expect([await reserve(), (await merchant.exceptions()).length]).toEqual([1_000, 1])
})

it('a dispute that is lost after it was won is held back again where the loss comes again after its exception was resolved', async () => {
  await report(opened('D1'), closed('E1', 'D1', 'won'), closed('L1', 'D1', 'lost'))
  const id = sql`${sql.table('exception_id')}('lost dispute north:D1')`
  await sql`SELECT ${sql.table('resolve_exception')}(${merchant.id}, ${id})`.execute(payments.owner.db)
  const resolved = await reserve()
  await report(closed('L2', 'D1', 'lost'))
  expect([resolved, await reserve(), (await merchant.exceptions()).length]).toEqual([0, 1_000, 1])
})

describe('a dispute of an unknown transaction', () => {
  const unknown = opened('D1', { acquirerRef: 'n-nobody', amount: 300 })

  it.each([
    ['a live merchant that neither has nor had the acquirer', {}, 0],
    ['a live merchant that has the acquirer', { acquirer: 'north' }, 300],
    ['a test merchant', { acquirer: 'north', test: true }, 0],
  ] as const)('of %s holds back the right amount', async (_title, changes, held) => {
    const { id: other } = await createTestMerchant(payments, app, { currency: 'EUR' })
    await settle(payments.database.db, other, { acquirer: 'south', ...changes })
    await report({ ...unknown, merchantId: other })
    expect(await reserve(other)).toBe(held)
  })

  it('holds back its amount at a merchant that had the acquirer, and has another one now', async () => {
    await settle(payments.database.db, merchant.id, { acquirer: 'south' })
    await report(unknown)
    expect(await reserve()).toBe(300)
  })
})

it.each(['9999-12-31T23:59:59-12:00', '9999-12-31T23:59:60Z', '1969-12-31T23:59:59Z', '0001-01-01T00:00:00+14:00'])(
  'a fraud alert of %s stays an exception, and events are listed as before',
  async (reported) => {
    await report({ type: 'fraud', reference: 'F-1', reported }, { type: 'fraud', reference: 'F-2', reported: null })
    expect([(await frauds()).length, (await merchant.exceptions()).length]).toEqual([1, 1])
    expect(await merchant.events()).toContain('fraud.created')
  },
)

it.each(['infinity', '-infinity', '10000-01-01T00:00:00Z', '1969-12-31T23:59:59.999Z'])(
  'no fraud alert of %s is stored, whoever writes it',
  async (reported) => {
    await run('frauds', 'add', transactionId, '--reference', 'F-1')
    const change = sql`UPDATE ${sql.table('frauds')} SET reported = ${reported} WHERE merchant_id = ${merchant.id}`
    await expect(change.execute(payments.owner.db)).rejects.toHaveProperty('code', '23514')
  },
)

describe('a merchant whose event fails', () => {
  /** Changes the dispute directly, so that closing it fails, or changes it back. */
  const shift = (by: number) =>
    sql`UPDATE ${sql.table('disputes')} SET reason_code = reason_code + ${by}::int WHERE merchant_id = ${merchant.id}`.execute(
      payments.owner.db,
    )
  const payOut = async () => {
    const { rows } = await sql<object>`
      SELECT verdict, reason, (payout).amount FROM ${sql.table('pay_out')}(NULL, ${merchant.id}, 0, 0)`.execute(
      payments.service.db,
    )
    return rows
  }
  const WAITS = [{ verdict: 'skipped', reason: 'events_waiting', amount: null }]

  it('is paid nothing while a dispute waits behind the event', async () => {
    await report(opened('D1', { amount: 100 }))
    await shift(1)
    await report(closed('E1', 'D1', 'won'), opened('D2', { amount: 400 }))
    await shift(-1)
    expect([await payOut(), await disputes(), await merchant.violations()]).toEqual([WAITS, [['open', 100, 0]], []])
    expect(await merchant.exceptions()).toEqual([{ type: 'events.waiting', acquirer: 'north', reference: 'E1' }])
    await report()
    expect(await reserve()).toBe(400)
    expect(await payOut()).toEqual([{ verdict: 'done', reason: null, amount: 561n }])
    expect(await merchant.violations()).toEqual([])
  })

  it('is paid nothing until the event is applied, also when an operator has resolved the exception', async () => {
    await report(opened('D1', { amount: 100 }))
    await shift(1)
    await report(closed('E1', 'D1', 'won'))
    const id = sql`${sql.table('exception_id')}('waiting north')`
    await sql`SELECT ${sql.table('resolve_exception')}(${merchant.id}, ${id})`.execute(payments.owner.db)
    await report()
    await shift(-1)
    expect(await payOut()).toEqual(WAITS)
  })

  it('is paid nothing until the event is applied, because no adjustment answers the exception', async () => {
    await sql`SELECT ${sql.table('hold_events')}(${merchant.id}, 'north', '{"type":"events.waiting","acquirer":"north"}')`.execute(
      payments.service.db,
    )
    const [held] = await payments.database.db
      .selectFrom('acquirer_exceptions')
      .select('id')
      .where('merchant_id', '=', merchant.id)
      .execute()
    await expect(run('adjust', merchant.id, '-100', 'x', '--exception', held?.id ?? '')).rejects.toHaveProperty(
      'message',
      `exception ${held?.id} holds the balance until events of an acquirer are applied: no adjustment answers it`,
    )
    expect([await payOut(), await merchant.balance(), await merchant.violations()]).toEqual([WAITS, 961, []])
  })

  it.each([
    ['its balance where the acquirer is one that it neither has nor had', 'south', { verdict: 'done', amount: 961n }],
    ['nothing where it had the acquirer, and has another one now', 'north', WAITS[0]],
  ])('is paid %s', async (_title, acquirer, paid) => {
    await settle(payments.database.db, merchant.id, { acquirer: 'east' })
    await sql`SELECT ${sql.table('hold_events')}(${merchant.id}, ${acquirer}, '{"type":"events.waiting"}')`.execute(
      payments.service.db,
    )
    expect(await payOut()).toEqual([{ reason: null, ...paid }])
  })
})

it('events of one merchant that wait do not hide those of others', async () => {
  await report(opened('D1'))
  await sql`UPDATE ${sql.table('disputes')} SET reason_code = 1 WHERE merchant_id = ${merchant.id}`.execute(
    payments.owner.db,
  )
  const waiting = Array.from({ length: EVENTS_MAX }, (_, n) => ({ type: 'fraud', reference: `F-${n}` }))
  const neighbour = await createLiveMerchant(payments, app, { north })
  const unknown = { merchantId: neighbour.id, acquirerRef: 'n-nobody' }
  await report(closed('E1', 'D1', 'lost'), ...waiting, opened('D2', unknown))
  expect(list.map(({ reference }) => reference)).toEqual(['E1', ...waiting.map(({ reference }) => reference)])
  expect(await neighbour.exceptions()).toHaveLength(1)
})
