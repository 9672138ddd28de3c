import { anyId } from '@trestle/testing/any-text.ts'
import { distributed } from '@trestle/testing/temporary-database.ts'
import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readLinks, recomputeChain } from '../../test/ledger-fixtures.ts'
import {
  createdOf,
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
} from '../../test/payments-app.ts'
import { toEuro } from '../money/currencies.ts'
import { CHAIN_START } from './chain.ts'
import { balanceEffect, entriesOf, type MovementKind } from './movement.model.ts'

let payments: TestPayments
let app: TestApp
beforeAll(async () => {
  payments = await startPayments()
  app = await createTestApp(payments)
})
afterAll(() => payments.close())

interface Posted {
  nth: bigint
  journal_id: string | null
  entry_id: string | null
  line_id: string | null
  created: Date
  balance_after: bigint
}

async function post(movements: readonly object[]): Promise<Posted[]> {
  const { rows } = await sql<Posted>`
    SELECT * FROM ${sql.table('post')}(array(
      SELECT m FROM json_populate_recordset(NULL::${sql.table('movement')}, ${JSON.stringify(movements)}) m
    )) ORDER BY nth`.execute(payments.database.db)
  return rows
}

async function newMerchant(currency: string): Promise<string> {
  return (await createTestMerchant(payments, app, { currency, test: true })).id
}

const count = (places: number) => places.toString(16).padStart(24, '0')
let places = 0

const OF_TRANSACTION: readonly MovementKind[] = ['capture', 'refund', 'void', 'disputeWon', 'disputeLost']
const amount = fc.integer({ min: 1, max: 1_000_000 })
/** Random movements. They need not follow the rules of operations, because `post` does not check these rules. */
const movement = fc
  .record({
    kind: fc.constantFrom<MovementKind>(
      ...OF_TRANSACTION,
      ...(['payout', 'payoutSettled', 'payoutReversal', 'adjustment', 'schemeSettled'] as const),
    ),
    currency: fc.constantFrom<'EUR' | 'DKK' | 'JPY' | 'BGN'>('EUR', 'DKK', 'JPY'),
    amount,
    gross: amount,
    fee_flat: fc.integer({ min: 0, max: 30 }),
    fee_rate: fc.integer({ min: 0, max: 30 }),
  })
  .map((drawn) => {
    const moneyless = drawn.kind === 'void' || drawn.kind === 'disputeWon'
    return { ...drawn, ...(moneyless ? { gross: 0, fee_flat: 0, fee_rate: 0 } : {}) }
  })

type Movement = typeof movement extends fc.Arbitrary<infer T> ? T : never

/** The arguments of a call. Without an exchange, `gross` equals the amount. The ids of objects are made up. */
function toPost(movement: Movement, merchantId: string, own: string) {
  const id = count(++places)
  const isCard = OF_TRANSACTION.includes(movement.kind)
  return {
    ...movement,
    gross: movement.gross > 0 && isCard && movement.currency === own ? movement.amount : movement.gross,
    merchant_id: merchantId,
    test: true,
    seq: 1,
    descriptor: 'Coffee & John',
    reference: 'R',
    ...(isCard ? { transaction_id: id } : { cause_id: id }),
    ...(movement.kind.startsWith('dispute') ? { dispute_id: id } : {}),
    ...(movement.kind === 'capture' && movement.currency !== own ? { rate: '7.5', rate_date: '2026-03-01' } : {}),
    pending: 1,
    captured: 2,
    refunded: 3,
    voided: 4,
    disputed: 5,
  }
}

describe('post', () => {
  it('posts the entries and balances of the model, for any movements together', async () => {
    const merchants = [await newMerchant('DKK'), await newMerchant('EUR')]
    const balances = new Map(merchants.map((id) => [id, 0n]))
    const own = (merchantId: string) => (merchantId === merchants[0] ? 'DKK' : 'EUR')
    const batchOf = (...of: readonly string[]) =>
      fc.array(fc.tuple(movement, fc.constantFrom(...of)), { minLength: 1, maxLength: 12 })
    // One call for several merchants needs `run_operations`, which does not run on a distributed database.
    const batch = distributed ? fc.oneof(...merchants.map((id) => batchOf(id))) : batchOf(...merchants)
    await fc.assert(
      fc.asyncProperty(batch, async (items) => {
        const movement = items.map(([each, merchantId]) => toPost(each, merchantId, own(merchantId)))
        const posted = await post(movement)
        for (const [index, each] of movement.entries()) {
          const { journal_id, balance_after } = posted[index] ?? {}
          const entries = entriesOf(
            {
              ...each,
              amount: BigInt(each.amount),
              gross: BigInt(each.gross),
              fee: BigInt(each.fee_flat + each.fee_rate),
            },
            own(each.merchant_id),
          )
          const balance = (balances.get(each.merchant_id) ?? 0n) + balanceEffect(entries)
          balances.set(each.merchant_id, balance)
          expect(balance_after).toBe(balance)
          const rows = await payments.database.db
            .selectFrom('entries')
            .select(['account', 'currency', 'amount'])
            .where('journal_id', '=', journal_id ?? '')
            .orderBy('seq')
            .execute()
          expect(rows).toEqual(entries)
        }
      }),
      { numRuns: 40 },
    )
    for (const merchantId of merchants) {
      const links = await readLinks(payments.database.db, merchantId)
      const { chain_head, chain_length, balance, line_count, last_id } = await payments.database.db
        .selectFrom('merchant_balances')
        .selectAll()
        .where('merchant_id', '=', merchantId)
        .executeTakeFirstOrThrow()
      expect(recomputeChain(links, CHAIN_START)).toEqual(chain_head)
      expect([BigInt(links.length), balance]).toEqual([chain_length, balances.get(merchantId)])
      const lines = links.flatMap((link) => (link.table === 'lines' ? [link.row] : []))
      expect(BigInt(lines.length)).toBe(line_count)
      lines.reduce((before, line) => {
        expect(line.balance_after).toBe(before + line.balance)
        return line.balance_after
      }, 0n)
      for (const { row } of links) {
        expect(row.created.toISOString()).toBe(createdOf(row.id))
        expect(row.id <= last_id && row.id.endsWith(merchantId.slice(16))).toBe(true)
      }
    }
  })

  const BEFORE: readonly MovementKind[] = ['capture', 'refund', 'disputeLost', 'payoutSettled', 'payoutReversal']

  it('posts in euro what a merchant had before it moved: the entries of the model, at the fixed rate', async () => {
    const merchantId = await newMerchant('EUR')
    const inLev = fc.tuple(movement, fc.constantFrom(...BEFORE), fc.constantFrom('BGN', 'EUR', 'JPY'))
    await fc.assert(
      fc.asyncProperty(inLev, async ([drawn, kind, currency]) => {
        const each = {
          ...toPost({ ...drawn, gross: drawn.gross + 1, kind, currency }, merchantId, 'BGN'),
          funding_currency: 'BGN',
        }
        const isPayout = kind === 'payoutSettled' || kind === 'payoutReversal'
        const [posted] = await post([{ ...each, ...(isPayout ? { amount: null, currency: null } : {}) }])
        const [gross, fee] = [BigInt(each.gross), isPayout ? 0 : each.fee_flat + each.fee_rate]
        const entries = entriesOf(
          {
            kind,
            currency,
            amount: isPayout ? gross : BigInt(each.amount),
            gross: kind === 'payoutSettled' ? gross : (toEuro(gross, 'BGN') ?? 0n),
            fee: toEuro(BigInt(fee), 'BGN') ?? 0n,
            formerCurrency: 'BGN',
          },
          'EUR',
        )
        const rows = await payments.database.db
          .selectFrom('entries')
          .select(['account', 'currency', 'amount'])
          .where('journal_id', '=', posted?.journal_id ?? '')
          .orderBy('seq')
          .execute()
        expect(rows).toEqual(entries)
      }),
      { numRuns: 40 },
    )
    const links = await readLinks(payments.database.db, merchantId)
    const { chain_head } = await payments.database.db
      .selectFrom('merchant_balances')
      .select('chain_head')
      .where('merchant_id', '=', merchantId)
      .executeTakeFirstOrThrow()
    expect(recomputeChain(links, CHAIN_START)).toEqual(chain_head)
  })

  it('writes line, trail entry and event of a capture', async () => {
    const merchantId = await newMerchant('DKK')
    const transactionId = count(++places)
    const movement = {
      kind: 'capture',
      currency: 'EUR',
      amount: 1_000,
      gross: 7_456,
      fee_flat: 186,
      fee_rate: 101,
    } as const
    const [posted] = await post([{ ...toPost(movement, merchantId, 'DKK'), transaction_id: transactionId }])
    const { db } = payments.database
    const of = { merchant_id: merchantId, created: posted?.created }
    const linked = { hash: expect.any(Buffer), hash_version: 1 }
    expect(await db.selectFrom('journals').selectAll().where('merchant_id', '=', merchantId).execute()).toEqual([
      { ...of, ...linked, id: posted?.journal_id, kind: 'capture', cause_id: posted?.entry_id, test: true },
    ])
    expect(await db.selectFrom('lines').selectAll().where('merchant_id', '=', merchantId).execute()).toEqual([
      {
        ...of,
        ...linked,
        id: posted?.line_id,
        kind: 'capture',
        balance: 7_169n,
        fee: 287n,
        balance_after: 7_169n,
        description: `Capture ${transactionId}`,
        transaction_id: transactionId,
        amount: 1_000n,
        currency: 'EUR',
        journal_id: posted?.journal_id,
        test: true,
      },
    ])
    expect(await db.selectFrom('trail_entries').selectAll().where('merchant_id', '=', merchantId).execute()).toEqual([
      {
        ...of,
        ...linked,
        id: posted?.entry_id,
        transaction_id: transactionId,
        seq: 1,
        kind: 'capture',
        amount: 1_000n,
        gross: 7_456n,
        fee_flat: 186n,
        fee_rate: 101n,
        balance: 7_169n,
        reference: 'R',
        descriptor: 'Coffee & John',
        line_id: posted?.line_id,
        dispute_id: null,
        rate: '7.5',
        rate_date: expect.any(Date),
      },
    ])
    expect(await db.selectFrom('events').selectAll().where('merchant_id', '=', merchantId).execute()).toEqual([
      {
        ...of,
        id: expect.stringMatching(/^[0-9a-f]{24}$/),
        type: 'transaction.captured',
        version: 1,
        object_id: transactionId,
        pending: 1n,
        captured: 2n,
        refunded: 3n,
        voided: 4n,
        disputed: 5n,
        trail_length: 1,
        data: null,
      },
    ])
  })

  it.each<[MovementKind, string | null, string | null]>([
    ['refund', 'Refund', 'transaction.refunded'],
    ['void', null, 'transaction.voided'],
    ['disputeLost', 'Dispute', 'dispute.lost'],
    ['disputeWon', null, 'dispute.won'],
    ['payout', 'Payout', 'payout.created'],
    ['payoutSettled', null, 'payout.settled'],
    ['payoutReversal', 'Payout', 'payout.failed'],
    ['schemeSettled', null, null],
  ])('%s: describes the line as %s, and the event as %s', async (kind, description, type) => {
    const merchantId = await newMerchant('EUR')
    const money = kind === 'void' || kind === 'disputeWon' ? 0 : 5
    const movement = { kind, currency: 'EUR', amount: 5, gross: money, fee_flat: 0, fee_rate: 0 } as const
    const posted = toPost(movement, merchantId, 'EUR')
    await post([posted])
    const { db } = payments.database
    const object = String(Reflect.get(posted, 'transaction_id') ?? Reflect.get(posted, 'cause_id'))
    const lines = await db.selectFrom('lines').select('description').where('merchant_id', '=', merchantId).execute()
    expect(lines).toEqual(description === null ? [] : [{ description: `${description} ${object}` }])
    const events = await db
      .selectFrom('events')
      .select(['type', 'object_id'])
      .where('merchant_id', '=', merchantId)
      .execute()
    expect(events).toEqual(type === null ? [] : [{ type, object_id: object }])
  })

  it('keeps the text of an adjustment, and writes no event', async () => {
    const merchantId = await newMerchant('EUR')
    const movement = { kind: 'adjustment', currency: 'EUR', amount: 1, gross: -5, fee_flat: 0, fee_rate: 0 } as const
    await post([
      { ...toPost(movement, merchantId, 'EUR'), cause_id: null, amount: null, currency: null, description: 'Goodwill' },
    ])
    const { db } = payments.database
    const line = await db.selectFrom('lines').selectAll().where('merchant_id', '=', merchantId).executeTakeFirst()
    expect(line).toEqual({
      description: 'Goodwill',
      balance: -5n,
      amount: null,
      currency: null,
      merchant_id: merchantId,
      id: anyId,
      created: expect.any(Date),
      kind: 'adjustment',
      fee: 0n,
      transaction_id: null,
      balance_after: -5n,
      journal_id: anyId,
      test: true,
      hash: expect.any(Buffer),
      hash_version: 1,
    })
    expect(await db.selectFrom('events').select('id').where('merchant_id', '=', merchantId).execute()).toEqual([])
  })

  it('writes a job for the acquirer of a live merchant, and one for its webhooks', async () => {
    const merchantId = await newMerchant('EUR')
    const { db } = payments.database
    const movement = { kind: 'capture', currency: 'EUR', amount: 5, gross: 5, fee_flat: 0, fee_rate: 0 } as const
    const live = () => ({ ...toPost(movement, merchantId, 'EUR'), test: false })
    const [posted] = await post([live()])
    const waiting = () => db.selectFrom('outbox').select(['id', 'kind']).where('merchant_id', '=', merchantId).execute()
    expect(await waiting()).toEqual([{ id: posted?.entry_id, kind: 'acquirer' }])
    const webhook = { merchant_id: merchantId, id: count(++places), created: new Date(0), url: 'https://example.com' }
    await db
      .insertInto('webhooks')
      .values({ ...webhook, events: [], secret_sealed: Buffer.alloc(1) })
      .execute()
    await post([toPost(movement, merchantId, 'EUR')])
    const { last_id } = await db
      .selectFrom('merchant_balances')
      .select('last_id')
      .where('merchant_id', '=', merchantId)
      .executeTakeFirstOrThrow()
    expect((await waiting()).slice(1)).toEqual([{ id: last_id, kind: 'event' }])
  })

  // ASVS 2.3.3, 16.5.3
  it('refuses a cause that is posted already, and entries that do not sum to zero, and leaves nothing', async () => {
    const merchantId = await newMerchant('EUR')
    const movement = { kind: 'payout', currency: 'EUR', amount: 5, gross: 5, fee_flat: 0, fee_rate: 0 } as const
    const payout = toPost(movement, merchantId, 'EUR')
    await post([payout])
    await expect(post([payout])).rejects.toThrow(/unique constraint "journals_cause_uq(_[0-9]+)?"$/)
    const unequal = { ...toPost({ ...movement, kind: 'capture' }, merchantId, 'EUR'), gross: 4 }
    await expect(post([unequal])).rejects.toThrow('does not sum to zero')
    const { chain_length } = await payments.database.db
      .selectFrom('merchant_balances')
      .select('chain_length')
      .where('merchant_id', '=', merchantId)
      .executeTakeFirstOrThrow()
    expect(chain_length).toBe(2n)
  })
})
