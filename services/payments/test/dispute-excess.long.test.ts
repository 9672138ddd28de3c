import { anyId, anyTime } from '@trestle/testing/any-text.ts'
import { type MailSink, startMailSink } from '@trestle/testing/mail-sink.ts'
import fc from 'fast-check'
import { sql } from 'kysely'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { TRUSTED_COLUMNS } from '../src/access/caller.ts'
import { type AcquirerEvent, EVENTS_MAX } from '../src/acquirers/acquirer.ts'
import { disputesCommand } from '../src/commands/disputes.ts'
import { adjustCommand } from '../src/commands/merchants.ts'
import { exceptionsCommand } from '../src/commands/transactions.ts'
import { callPayOut } from '../src/payouts/payout-repository.ts'
import { applyAcquirerEvents } from '../src/use-cases/apply-acquirer-events.ts'
import { createLiveMerchant, type LiveMerchant } from './live-merchant.ts'
import { createTestApp, operatorDeps, startPayments, type TestApp, type TestPayments } from './payments-app.ts'
import { commandRunner } from './run-command.ts'
import { createStubAcquirer } from './stub-acquirer.ts'

const north = createStubAcquirer()
let sink: MailSink
let payments: TestPayments
let app: TestApp
let merchant: LiveMerchant
beforeAll(async () => {
  sink = await startMailSink()
  payments = await startPayments({ acquirers: new Map([['north', north]]), smtp: sink })
  app = await createTestApp(payments)
  const rates = [
    ['USD', 1.08],
    ['DKK', 7.456],
    ['JPY', 162],
  ].map(([currency, rate]) => ({ date: new Date().toISOString().slice(0, 10), currency, rate }))
  await sql`SELECT ${sql.table('import_rates')}(${JSON.stringify(rates)}::jsonb)`.execute(payments.owner.db)
})
beforeEach(async () => {
  merchant = await createLiveMerchant(payments, app, { north, email: 'owner@example.com' })
})
afterAll(async () => {
  await payments.close()
  await sink.close()
})

const commands = [adjustCommand, disputesCommand, exceptionsCommand] as const
const { run, json } = commandRunner(commands, () => operatorDeps(payments))

/** Processes the acquirer's events, as its job does every minute. */
async function report(...events: AcquirerEvent[]): Promise<void> {
  north.answers.events = events
  const counter = { add: () => {} }
  const { pools } = payments.deps
  const deps = { db: payments.service.db, pools, logger: pino({ enabled: false }), counter }
  await applyAcquirerEvents(deps, { name: 'north', acquirer: north, limit: EVENTS_MAX })
}

/** Creates a captured charge that the acquirer has accepted. Returns the transaction id. */
async function captured(amount: number, currency = 'EUR'): Promise<string> {
  const id = await merchant.charge(amount, currency)
  await merchant.answer(await merchant.book('capture', id, amount), { verdict: 'accepted' })
  return id
}

async function acquirerRefOf(id: string): Promise<string> {
  const { db } = payments.database
  const row = await db.selectFrom('transactions').select('acquirer_ref').where('id', '=', id).executeTakeFirstOrThrow()
  return row.acquirer_ref ?? ''
}

let nth = 0
/** Returns the event of a new dispute about a transaction, with a unique reference. */
async function openedEvent(id: string, amount: number, currency?: string) {
  nth += 1
  const event = { type: 'dispute.opened', reference: `d-${nth}`, merchantId: merchant.id, amount, currency } as const
  return { ...event, acquirerRef: await acquirerRefOf(id), reasonCode: undefined }
}
const closedEvent = (disputeReference: string, outcome: 'won' | 'lost') =>
  ({
    type: `dispute.${outcome}`,
    reference: `${disputeReference}-end`,
    merchantId: merchant.id,
    disputeReference,
  }) as const

const disputes = async () => {
  const url = `/disputes?limit=9&filter[merchantId]=${merchant.id}`
  return (await payments.app.inject({ url, headers: app.headers })).json()
}
const reserve = async (): Promise<bigint> => {
  const { rows } = await sql<{ reserve: bigint }>`
    SELECT ${sql.table('dispute_reserve')}(${merchant.id}) AS reserve`.execute(payments.owner.db)
  return rows[0]?.reserve ?? -1n
}
const payOut = async () => {
  const call = { ...TRUSTED_COLUMNS, merchantId: merchant.id, minimumMajorUnits: 1, delayDays: 0 }
  return (await callPayOut(payments.deps.pools, call)).outcome
}
const DISPUTE_FEE = 2_500

describe('a dispute of more than was captured', () => {
  it('is opened with its excess, which payouts hold back, and which a loss takes with the rest', async () => {
    const id = await captured(1_000)
    const other = await captured(10_000)
    const before = await merchant.balance()
    const event = await openedEvent(id, 1_001)
    await report(event)
    const [dispute] = await disputes()
    expect(dispute).toEqual({
      ...{ id: anyId, merchantId: merchant.id, transactionId: id, created: anyTime, amount: 1_001, currency: 'EUR' },
      ...{ excess: 1, reason: { code: 4853, title: 'Cardholder dispute' }, due: anyTime, status: 'open' },
    })
    expect([await reserve(), (await merchant.get(id)).disputedAmount]).toEqual([1_001n, 1_000])
    const paid = await payOut()
    expect(paid?.verdict === 'paid' && paid.payout.amount).toBe(BigInt(before - 1_001))
    await report(closedEvent(event.reference, 'lost'))
    expect(await merchant.balance()).toBe(1_001 - 1_001 - DISPUTE_FEE)
    const { trail, disputedAmount } = await merchant.get(id)
    expect([disputedAmount, trail.at(-1)]).toEqual([
      1_000,
      {
        ...{ id: anyId, created: anyTime, dispute: { id: dispute.id, lost: true }, amount: 1_000 },
        ...{ balance: -1_001 - DISPUTE_FEE, fee: { flat: DISPUTE_FEE, rate: 0 }, descriptor: expect.any(String) },
        lineId: anyId,
      },
    ])
    expect([await reserve(), (await merchant.get(other)).disputedAmount]).toEqual([0n, 0])
    expect(await merchant.violations()).toEqual([])
  })

  it.each([
    ['after a refund of 400, of all that was captured', 400, 1_000, 400],
    ['after all was refunded', 1_000, 1_000, 1_000],
    ['after a refund of 400, of what is left', 400, 600, 0],
    ['of many times the capture', 0, 999_999_999_999, 999_999_998_999],
  ])('has the excess beyond the captures less refunds: %s', async (_title, refunded, amount, excess) => {
    const id = await captured(1_000)
    if (refunded > 0) await merchant.book('refund', id, refunded)
    const event = await openedEvent(id, amount)
    await report(event)
    const shown = (await disputes())[0]
    expect([shown.amount, shown.excess ?? 0, (await merchant.get(id)).disputedAmount]).toEqual([
      amount,
      excess,
      amount - excess,
    ])
    expect(await reserve()).toBe(BigInt(amount))
    const before = await merchant.balance()
    await report(closedEvent(event.reference, 'lost'))
    expect(await merchant.balance()).toBe(before - amount - DISPUTE_FEE)
    expect(await merchant.violations()).toEqual([])
  })

  it('leaves the books as they were when it is won, or when its reference comes again', async () => {
    const id = await captured(1_000)
    const event = await openedEvent(id, 1_500)
    const before = await merchant.balance()
    await report(event, { ...event, amount: 2_000 }, event)
    expect([(await disputes()).length, await reserve(), await merchant.exceptions()]).toEqual([1, 1_500n, []])
    await report(closedEvent(event.reference, 'won'), event)
    expect([await merchant.balance(), await reserve(), (await merchant.get(id)).disputedAmount]).toEqual([
      before,
      0n,
      0,
    ])
    expect((await disputes()).map(({ status }: { status: string }) => status)).toEqual(['won'])
    expect(await merchant.violations()).toEqual([])
  })

  it('is held back when it is lost after it was won, with its excess, until an adjustment books it', async () => {
    const id = await captured(1_000)
    await captured(10_000)
    const event = await openedEvent(id, 1_500)
    await report(event)
    await report(closedEvent(event.reference, 'won'))
    const before = await merchant.balance()
    const lost = { ...closedEvent(event.reference, 'lost'), reference: `${event.reference}-after-all` }
    await report(lost, lost)
    expect([await reserve(), await merchant.balance()]).toEqual([1_500n, before])
    const paid = await payOut()
    expect(paid?.verdict === 'paid' && paid.payout.amount).toBe(BigInt(before - 1_500))
    const { db } = payments.database
    const rows = db.selectFrom('acquirer_exceptions').select('id').where('merchant_id', '=', merchant.id)
    const exception = await rows.executeTakeFirstOrThrow()
    await json('adjust', merchant.id, '-1500', 'Lost after all', '--exception', exception.id)
    await report(lost)
    expect([await reserve(), await merchant.balance(), await merchant.violations()]).toEqual([0n, 0, []])
  })

  it('may be in a currency of its own, and is worth its amount at the rate of the day', async () => {
    const id = await captured(1_000, 'USD')
    const covered = await openedEvent(id, 500, 'EUR')
    await report(covered)
    const [first] = await disputes()
    expect([first.amount, first.currency, first.excess]).toEqual([500, 'EUR', undefined])
    expect((await merchant.get(id)).disputedAmount).toBe(540)
    const beyond = await openedEvent(id, 10_000, 'DKK')
    await report(beyond)
    const [second] = await disputes()
    // USD 4.60 of the capture remain, which are DKK 31.76. The other DKK 68.24 are EUR 9.15.
    expect([second.amount, second.currency, second.excess]).toEqual([10_000, 'DKK', 6_824])
    expect((await merchant.get(id)).disputedAmount).toBe(1_000)
    expect(await reserve()).toBe(926n + 915n)
    const before = await merchant.balance()
    const held = await reserve()
    await report(closedEvent(covered.reference, 'lost'), closedEvent(beyond.reference, 'lost'))
    expect(await merchant.balance()).toBe(before - Number(held) - 2 * DISPUTE_FEE)
    expect(await merchant.violations()).toEqual([])
  })

  it('is mailed to the merchant, and is an event', async () => {
    const id = await captured(1_000)
    await report(await openedEvent(id, 1_001))
    const mail = await sink.take(({ text }) => text?.includes(id) === true)
    expect(mail.subject).toBe('A dispute of more than was captured')
    expect(mail.text).toContain('disputes EUR 10.01: EUR 0.01 more than was captured and not refunded.')
    expect(await merchant.events()).toContain('dispute.opened')
  })

  it('is opened by an operator, too', async () => {
    const id = await captured(1_000)
    expect(await json('disputes', 'open', id, '--amount', '1200', '--reference', 'paper-1')).toEqual({
      ...{ id: anyId, transactionId: id, amount: 1_200, currency: 'EUR', excess: 200, status: 'open', due: anyTime },
    })
    await expect(run('disputes', 'open', id, '--amount', '5', '--currency', 'XXX')).rejects.toThrow('no exchange rate')
    await expect(run('disputes', 'open', id, '--currency', 'EUR')).rejects.toThrow('--currency needs --amount')
    expect(await reserve()).toBe(1_200n)
  })
})

describe('a dispute of an unknown transaction', () => {
  const unknown = (amount: number, currency?: string) => {
    nth += 1
    const place = { reference: `u-${nth}`, merchantId: merchant.id, acquirerRef: 'n-nobody', reasonCode: undefined }
    return { type: 'dispute.opened', ...place, amount, currency } as const
  }
  const exceptionId = async () => {
    const { db } = payments.database
    const rows = db.selectFrom('acquirer_exceptions').select('id').where('merchant_id', '=', merchant.id)
    return (await rows.executeTakeFirstOrThrow()).id
  }

  it('stays an exception whose amount payouts hold back, until an adjustment names it', async () => {
    await captured(10_000)
    const before = await merchant.balance()
    const event = unknown(4_000)
    await report(event, event)
    await report({ ...event, amount: 9_000 })
    expect([(await merchant.exceptions()).length, await reserve(), await merchant.balance()]).toEqual([
      1,
      4_000n,
      before,
    ])
    const paid = await payOut()
    expect(paid?.verdict === 'paid' && paid.payout.amount).toBe(BigInt(before - 4_000))
    const id = await exceptionId()
    const booked = await json('adjust', merchant.id, '-4000', 'Lost dispute u', '--exception', id)
    expect([booked, await reserve()]).toEqual([{ lineId: anyId, balance: 0 }, 0n])
    await expect(run('adjust', merchant.id, '-4000', 'Again', '--exception', id)).rejects.toThrow(
      `there is no open exception ${id}`,
    )
    expect(await merchant.balance()).toBe(0)
    await report(event)
    expect([await reserve(), (await disputes()).length, await merchant.violations()]).toEqual([0n, 0, []])
  })

  it('is held back again where the event comes again after an exception that was resolved and never booked', async () => {
    await captured(10_000)
    const event = unknown(4_000)
    await report(event)
    await run('exceptions', 'resolve', merchant.id, await exceptionId())
    const resolved = await reserve()
    await report({ ...event, amount: 3_000 })
    expect([resolved, await reserve(), await merchant.violations()]).toEqual([0n, 3_000n, []])
    await json('adjust', merchant.id, '-3000', 'Lost dispute u', '--exception', await exceptionId())
    await report(event)
    expect([await reserve(), await merchant.violations()]).toEqual([0n, []])
  })

  it('is wholly held back again where the amount of an event that comes again has no rate', async () => {
    await captured(10_000)
    const event = unknown(4_000, 'XXX')
    await report(event)
    await run('exceptions', 'resolve', merchant.id, await exceptionId())
    await report(event)
    expect(await reserve()).toBe(BigInt(await merchant.balance()))
  })

  it('is held back at the rate of its day, and wholly where its currency has none', async () => {
    await captured(100_000)
    await report(unknown(7_456, 'DKK'))
    expect(await reserve()).toBe(1_000n)
    await report(unknown(1, 'XXX'))
    expect([await reserve(), await payOut()]).toEqual([
      BigInt(await merchant.balance()),
      { verdict: 'skipped', reason: 'below_minimum' },
    ])
  })
})

it('what payouts hold back is what the loss of all open disputes takes, beside fees', async () => {
  const step = fc.record({
    act: fc.constantFrom('dispute', 'dispute', 'refund', 'capture', 'won', 'lost'),
    amount: fc.integer({ min: 1, max: 900 }),
    currency: fc.constantFrom(undefined, undefined, 'EUR', 'DKK', 'JPY'),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 12 }), async (steps) => {
      merchant = await createLiveMerchant(payments, app, { north, currency: 'DKK' })
      const id = await merchant.charge(2_000, 'USD')
      await merchant.book('capture', id, 500)
      const open: string[] = []
      for (const { act, amount, currency } of steps) {
        const { pendingAmount, capturedAmount, refundedAmount, disputedAmount } = await merchant.get(id)
        if (act === 'dispute') {
          const event = await openedEvent(id, amount, currency)
          await report(event)
          open.push(event.reference)
        } else if (act === 'capture' && amount <= pendingAmount) await merchant.book('capture', id, amount)
        else if (act === 'refund' && amount <= capturedAmount - refundedAmount - disputedAmount)
          await merchant.book('refund', id, amount)
        else if ((act === 'won' || act === 'lost') && open.length > 0)
          await report(closedEvent(open.shift() ?? '', act))
      }
      const [held, before] = [await reserve(), await merchant.balance()]
      for (const reference of open) await report(closedEvent(reference, 'lost'))
      const { trail } = await merchant.get(id)
      const fees = trail
        .slice(trail.length - open.length)
        .reduce((sum: number, { fee }: { fee: { flat: number } }) => sum + fee.flat, 0)
      expect(await merchant.balance()).toBe(before - Number(held) - fees)
      expect([await reserve(), await merchant.violations()]).toEqual([0n, []])
    }),
    { numRuns: 5 },
  )
})
