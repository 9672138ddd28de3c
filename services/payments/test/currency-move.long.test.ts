import { anyId, anyTime } from '@trestle/testing/any-text.ts'
import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { TRUSTED_COLUMNS } from '../src/access/caller.ts'
import { callAddException } from '../src/acquirers/exception-repository.ts'
import { callCloseOperation, findRejection } from '../src/acquirers/operation-repository.ts'
import { merchantsCommand } from '../src/commands/merchants.ts'
import { callCloseDispute, callOpenDispute, findExcessDispute } from '../src/disputes/dispute-repository.ts'
import { callClosePayout, callPayOut } from '../src/payouts/payout-repository.ts'
import { customerPayment } from './customer-payment.ts'
import type { LiveMerchant } from './live-merchant.ts'
import { capturedInLev, createMerchantInLev } from './merchant-in-lev.ts'
import {
  createTestApp,
  createTestMerchant,
  operatorDeps,
  startPayments,
  type TestApp,
  type TestPayments,
  turnOffTriggers,
  UNKNOWN_ID,
} from './payments-app.ts'
import { commandRunner } from './run-command.ts'
import { createStubAcquirer } from './stub-acquirer.ts'

// 1.95583 lev are one euro. The fees are 1.35 % and 0.49 lev (0.25 euro) a capture, 48.90 lev (25 euro) a lost dispute.

const north = createStubAcquirer()
let payments: TestPayments
let app: TestApp
let merchant: LiveMerchant
beforeAll(async () => {
  payments = await startPayments({ acquirers: new Map([['north', north]]), lockTimeoutMs: 30_000 })
  app = await createTestApp(payments)
})
beforeEach(async () => {
  merchant = await createMerchantInLev(payments, app, north)
})
afterAll(() => payments.close())

const { run, json } = commandRunner([merchantsCommand], () => operatorDeps(payments))
const move = () => json('merchants', 'currency', merchant.id, 'EUR')

async function get(url: string) {
  return payments.app.inject({ url, headers: app.headers })
}
const lines = async (count: number) => (await get(`/merchants/${merchant.id}/lines?limit=${count}`)).json()
const shownCurrency = async () => (await get(`/merchants/${merchant.id}`)).json().merchant.currency

/** Verifies the ledger, and returns the balance and the fee of the newest line. */
async function booked(): Promise<readonly [balance: number, fee: number | undefined]> {
  expect(await merchant.violations()).toEqual([])
  const [line] = await lines(1)
  return [line.balance, line.fee]
}

async function disputed(transactionId: string, amount: number): Promise<string> {
  const dispute = { amount, reasonCode: 4853, reasonTitle: 'Cardholder dispute', acquirerRef: `d-${transactionId}` }
  const { outcome } = await callOpenDispute(payments.deps.pools, { ...TRUSTED_COLUMNS, transactionId, dispute })
  if (outcome?.verdict !== 'opened') throw new Error(`not opened: ${outcome?.verdict}`)
  return outcome.dispute.id
}
const closeDispute = (disputeId: string, outcome: 'won' | 'lost') =>
  callCloseDispute(payments.deps.pools, { ...TRUSTED_COLUMNS, disputeId, outcome })

const payOut = async (delayDays = 0) => {
  const call = { ...TRUSTED_COLUMNS, merchantId: merchant.id, minimumMajorUnits: 1, delayDays }
  const { outcome } = await callPayOut(payments.deps.pools, call)
  return outcome?.verdict === 'paid' ? outcome.payout : undefined
}
async function heldBack(delayDays: number): Promise<readonly [reserve: bigint, notYetDue: bigint]> {
  const { rows } = await sql<{ reserve: bigint; due: bigint }>`
    SELECT ${sql.table('dispute_reserve')}(${merchant.id}) AS reserve,
      ${sql.table('not_yet_due')}(${merchant.id}, now() - ${delayDays}::int * interval '1 day') AS due
  `.execute(payments.owner.db)
  return [rows[0]?.reserve ?? -1n, rows[0]?.due ?? -1n]
}

describe('payments merchants currency', () => {
  it('closes the balance in lev, and opens it in euro at the fixed rate, in lines of their own', async () => {
    await capturedInLev(payments, merchant, { amount: 195_583, captured: 195_583 })
    expect(await merchant.balance()).toBe(192_894)
    expect(await move()).toEqual({
      ...{ id: merchant.id, currency: 'EUR', balance: 98_625, moved: true },
      ...{ from: 'BGN', rate: '1.95583' },
    })
    expect([await shownCurrency(), await merchant.balance(), await merchant.violations()]).toEqual(['EUR', 98_625, []])
    const line = { id: anyId, merchantId: merchant.id, test: false, created: anyTime }
    const description = 'Moved from BGN to EUR at 1.95583'
    expect((await lines(3)).slice(0, 2)).toEqual([
      { ...line, balance: 98_625, balanceAfter: 98_625, description, adjustment: true },
      { ...line, balance: -192_894, balanceAfter: 0, description, adjustment: true, fundingCurrency: 'BGN' },
    ])
    const { db } = payments.database
    const audit = db.selectFrom('audit').select('payload').where('merchant_id', '=', merchant.id)
    expect(await audit.where('action', '=', 'merchant.currency-moved').execute()).toEqual([
      { payload: { from: 'BGN', to: 'EUR', rate: '1.95583', balanceBefore: 192_894, balance: 98_625 } },
    ])
    expect((await merchant.events()).at(0)).toBe('merchant.updated')
  })

  it('changes nothing the second time', async () => {
    await capturedInLev(payments, merchant, { amount: 1_000, captured: 1_000 })
    await move()
    const before = await lines(9)
    expect(await move()).toEqual({ id: merchant.id, currency: 'EUR', balance: 479, moved: false })
    expect([await lines(9), await merchant.violations()]).toEqual([before, []])
  })

  it('moves a merchant without a balance, or with one below 0', async () => {
    const id = await capturedInLev(payments, merchant, { amount: 1_000, captured: 1_000 })
    await merchant.answer(await merchant.book('refund', id, 1_000), { verdict: 'accepted' })
    expect(await merchant.balance()).toBe(-63)
    await move()
    expect([await merchant.balance(), await merchant.violations()]).toEqual([-32, []])
    merchant = await createMerchantInLev(payments, app, north)
    await move()
    expect([await merchant.balance(), await shownCurrency(), await merchant.violations()]).toEqual([0, 'EUR', []])
  })

  it.each([
    ['an unknown merchant', () => UNKNOWN_ID, 'EUR', /^there is no merchant f+$/],
    ['an id of another form', () => 'shop', 'EUR', /^the id must be 24 hexadecimal digits$/],
    ['another currency than the euro', () => merchant.id, 'DKK', /^BGN has no fixed rate to DKK$/],
    ['a currency of small letters', () => merchant.id, 'eur', /^BGN has no fixed rate to eur$/],
  ])('refuses %s', async (_name, id, code, message) => {
    await expect(run('merchants', 'currency', id(), code)).rejects.toThrow(message)
    expect([await shownCurrency(), await merchant.violations()]).toEqual(['BGN', []])
  })

  it('refuses a merchant whose currency has no fixed rate', async () => {
    const { id } = await createTestMerchant(payments, app, { currency: 'DKK' })
    await expect(run('merchants', 'currency', id, 'EUR')).rejects.toThrow(/^DKK has no fixed rate to EUR$/)
  })

  it('refuses a merchant whose row was changed by hand', async () => {
    const { db } = payments.database
    await db.updateTable('merchants').set({ iban: 'DK9520000123456789' }).where('id', '=', merchant.id).execute()
    await expect(move()).rejects.toThrow(/was changed by hand/)
    expect(await shownCurrency()).toBe('BGN')
  })
})

describe('what was authorized before the move', () => {
  it('is captured, refunded and disputed on: its trail stays in lev, its lines are in euro', async () => {
    const id = await capturedInLev(payments, merchant, { amount: 200_000, captured: 195_583 })
    await move()
    await merchant.answer(await merchant.book('capture', id, 417), { verdict: 'accepted' })
    // 1,960.00 lev are 1,002.13 euro, 2.13 more than 1,955.83. The fee of 0.55 lev is 0.28.
    expect(await booked()).toEqual([213 - 28, 28])
    await merchant.answer(await merchant.book('refund', id, 1_000), { verdict: 'accepted' })
    expect(await booked()).toEqual([99_702 - 100_213, 0])
    const lost = await disputed(id, 2_000)
    expect(await heldBack(0)).toEqual([99_702n - 98_679n, 0n])
    await closeDispute(lost, 'lost')
    expect(await booked()).toEqual([98_679 - 99_702 - 2_500, 2_500])
    const { trail, fundingCurrency } = await merchant.get(id)
    expect(fundingCurrency).toBe('BGN')
    const worths = trail.map(({ balance, fee }: { balance: number; fee: object }) => [balance, fee])
    expect(worths).toEqual([
      [192_894, { flat: 49, rate: 2_640 }],
      [417 - 55, { flat: 49, rate: 6 }],
      [-1_000, { flat: 0, rate: 0 }],
      [-2_000 - 4_890, { flat: 4_890, rate: 0 }],
    ])
  })

  it('returns exactly what it brought, in however many parts it is refunded', async () => {
    const id = await capturedInLev(payments, merchant, { amount: 1_000, captured: 999 })
    await move()
    for (const amount of [1, 333, 1, 332, 331, 1]) await merchant.book('refund', id, amount)
    const [refunds] = [(await lines(6)).map(({ balance }: { balance: number }) => balance)]
    expect(refunds.reduce((sum: number, balance: number) => sum + balance, 0)).toBe(-511)
    expect(await merchant.violations()).toEqual([])
  })

  it('is voided as before', async () => {
    const id = await capturedInLev(payments, merchant, { amount: 1_000, captured: 0 })
    await move()
    await merchant.book('void', id, 1_000)
    expect([(await merchant.get(id)).voidedAmount, await merchant.violations()]).toEqual([1_000, []])
  })

  it('may be in another currency than lev, the euro included', async () => {
    const id = await customerPayment(payments, merchant.id, { currency: 'EUR', amount: 10_000 })
    await merchant.book('capture', id, 5_000)
    await move()
    await merchant.book('capture', id, 5_000)
    // 97.79 lev, and another 97.79 lev, with fees of 0.49 and 1.32 lev.
    expect(await booked()).toEqual([5_000 - 93, 93])
    expect((await merchant.get(id)).trail[1].exchange).toEqual({ rate: '1.95583', date: expect.any(String) })
    await merchant.book('refund', id, 10_000)
    expect(await booked()).toEqual([-10_000, 0])
  })

  it('is taken back as it was booked, where the acquirer rejects it', async () => {
    const id = await customerPayment(payments, merchant.id, { currency: 'BGN', amount: 3_000 })
    const before = await merchant.book('capture', id, 1_000)
    await move()
    const after = await merchant.book('capture', id, 2_000)
    const refund = await merchant.book('refund', id, 500)
    expect(await heldBack(0)).toEqual([0n, 479n + 985n])
    await merchant.answer(refund, { verdict: 'rejected', reason: 'no' })
    expect(await booked()).toEqual([256, 0])
    await merchant.answer(before, { verdict: 'rejected', reason: 'no' })
    await merchant.answer(after, { verdict: 'rejected', reason: 'no' })
    expect(await booked()).toEqual([-985, -38])
    expect([await merchant.balance(), await heldBack(0)]).toEqual([0, [0n, 0n]])
  })

  it('is booked again where the acquirer accepts it late', async () => {
    const id = await customerPayment(payments, merchant.id, { currency: 'BGN', amount: 3_000 })
    const capture = await merchant.book('capture', id, 1_000)
    const close = (outcome: 'unanswered' | 'accepted') =>
      callCloseOperation(payments.deps.pools, { merchantId: merchant.id, id: capture, outcome, reason: null })
    await close('unanswered')
    await move()
    await close('accepted')
    expect(await booked()).toEqual([511 - 32, 32])
  })

  it('keeps its reserve exactly, also beyond what was captured', async () => {
    const first = await capturedInLev(payments, merchant, { amount: 1_000, captured: 999 })
    const second = await capturedInLev(payments, merchant, { amount: 20_000, captured: 20_000 })
    const dispute = await disputed(first, 1_500)
    expect(await heldBack(0)).toEqual([1_500n, 0n])
    await move()
    expect(await heldBack(0)).toEqual([511n + 256n, 0n])
    const later = await disputed(second, 333)
    expect(await heldBack(0)).toEqual([511n + 256n + 170n, 0n])
    const before = await merchant.balance()
    const payout = await payOut()
    expect([payout?.currency, payout?.amount]).toEqual(['EUR', BigInt(before) - 937n])
    await closeDispute(dispute, 'lost')
    expect(await booked()).toEqual([-767 - 2_500, 2_500])
    await closeDispute(later, 'won')
    expect([await merchant.balance(), await heldBack(0)]).toEqual([170 - 2_500, [0n, 0n]])
  })

  it('is not due before its day', async () => {
    await capturedInLev(payments, merchant, { amount: 1_000, captured: 1_000 })
    expect(await heldBack(2)).toEqual([0n, 937n])
    await move()
    expect(await heldBack(2)).toEqual([0n, 479n])
    expect(await payOut(2)).toBeUndefined()
  })

  it('is named in euro by the mail about a rejection, whatever part of it was booked before', async () => {
    const id = await capturedInLev(payments, merchant, { amount: 1_000, captured: 0 })
    const operation = await merchant.book('capture', id, 1_000)
    await move()
    await merchant.answer(operation, { verdict: 'rejected', reason: 'no' })
    const { balance } = (await lines(1))[0]
    expect(await findRejection(payments.deps.pools, { merchantId: merchant.id, id: operation })).toEqual({
      ...{
        merchantId: merchant.id,
        email: 'owner@example.com',
        transactionId: id,
        kind: 'capture',
        status: 'rejected',
      },
      ...{ amount: 1_000n, currency: 'BGN', balance: BigInt(balance), balanceCurrency: 'EUR' },
    })
    expect(balance).toBe(-479)
  })

  it('is named in euro by the mail about the excess of a dispute', async () => {
    const id = await capturedInLev(payments, merchant, { amount: 1_000, captured: 1_000 })
    const disputeId = await disputed(id, 3_000)
    const find = () => findExcessDispute(payments.deps.pools, { merchantId: merchant.id, disputeId })
    const before = await find()
    await move()
    expect([before, await find()].map((found) => [found?.worth, found?.balanceCurrency])).toEqual([
      [2_000n, 'BGN'],
      [1_023n, 'EUR'],
    ])
  })

  it('holds back disputes of unknown transactions at the fixed rate', async () => {
    const report = { reference: 'x', payload: { acquirer: 'north' }, disputed: { amount: 1_000, currency: undefined } }
    await callAddException(payments.service.db, { merchantId: merchant.id, ...report })
    expect(await heldBack(0)).toEqual([1_000n, 0n])
    await move()
    expect([await heldBack(0), await merchant.violations()]).toEqual([[511n, 0n], []])
  })

  it('has payouts that the bank settles or returns after the move', async () => {
    await capturedInLev(payments, merchant, { amount: 200_000, captured: 200_000 })
    const payout = await payOut()
    expect([payout?.currency, payout?.amount]).toEqual(['BGN', 197_251n])
    await move()
    expect(await merchant.violations()).toEqual([])
    await callClosePayout(operatorDeps(payments).pools, { id: payout?.id ?? '', outcome: 'failed' })
    expect(await booked()).toEqual([100_853, undefined])
    await merchant.wait(1)
    const again = await payOut()
    expect([again?.currency, again?.amount]).toEqual(['EUR', 100_853n])
    await callClosePayout(operatorDeps(payments).pools, { id: again?.id ?? '', outcome: 'settled' })
    expect([await merchant.balance(), await merchant.violations()]).toEqual([0, []])
  })

  it('has a payout in lev that is settled after the move', async () => {
    await capturedInLev(payments, merchant, { amount: 200_000, captured: 200_000 })
    const payout = await payOut()
    await move()
    await callClosePayout(operatorDeps(payments).pools, { id: payout?.id ?? '', outcome: 'settled' })
    expect(await merchant.violations()).toEqual([])
  })
})

it('new charges of a moved merchant are those of a merchant in euro', async () => {
  await move()
  const id = await merchant.charge(1_000)
  await merchant.book('capture', id, 1_000)
  expect(await booked()).toEqual([1_000 - 39, 39])
  expect(await merchant.get(id)).not.toHaveProperty('fundingCurrency')
})

it('a statement names the currency of each line', async () => {
  await capturedInLev(payments, merchant, { amount: 1_000, captured: 1_000 })
  await move()
  const day = new Date().toISOString().slice(0, 10)
  const { body } = await get(`/merchants/${merchant.id}/statement.csv?from=${day}&to=${day}`)
  const figures = body
    .trim()
    .split('\r\n')
    .map((row) => row.split(',').slice(-3).join())
  expect(figures).toEqual([
    'amount,balance,currency',
    ',0.00,BGN',
    '9.37,9.37,BGN',
    '-9.37,0.00,BGN',
    '4.79,4.79,EUR',
    ',4.79,EUR',
  ])
})

describe('ledger verify', () => {
  const change = (table: 'transactions' | 'merchant_balances' | 'lines', column: string, value: unknown, id: string) =>
    payments.database.db.transaction().execute(async (trx) => {
      await turnOffTriggers(trx)
      const key = table === 'merchant_balances' ? 'merchant_id' : 'id'
      await sql`UPDATE ${sql.table(table)} SET ${sql.ref(column)} = ${value} WHERE ${sql.ref(key)} = ${id}`.execute(trx)
    })

  it('finds a transaction in another currency than it was made in', async () => {
    const id = await capturedInLev(payments, merchant, { amount: 1_000, captured: 999 })
    await move()
    await merchant.book('refund', id, 100)
    await change('transactions', 'funding_currency', 'EUR', id)
    const found = (await merchant.violations()).map((violation) => Reflect.get(violation, 'invariant'))
    expect(new Set(found)).toEqual(new Set([6, 17, 18, 20]))
  })

  it('finds a move that opened another balance, though its links were hashed again', async () => {
    await capturedInLev(payments, merchant, { amount: 1_000, captured: 999 })
    await move()
    const [line] = await lines(1)
    await change('lines', 'balance', line.balance + 1, line.id)
    const found = (await merchant.violations()).map((violation) => Reflect.get(violation, 'invariant'))
    expect(found).toContain(20)
  })

  it('finds a balance that was set back to lev', async () => {
    await capturedInLev(payments, merchant, { amount: 1_000, captured: 999 })
    await move()
    await change('merchant_balances', 'currency', 'BGN', merchant.id)
    const found = (await merchant.violations()).map((violation) => Reflect.get(violation, 'invariant'))
    expect(found).toEqual([9])
  })
})

it('meets charges, captures, refunds and a payout at once, each wholly before it or after it', async () => {
  const paid = await Promise.all(
    Array.from({ length: 6 }, () => capturedInLev(payments, merchant, { amount: 10_000, captured: 5_000 })),
  )
  const [source = ''] = paid
  const post = (url: string, payload: object) =>
    payments.app.inject({ method: 'POST', url, headers: app.headers, payload })
  const answers = await Promise.all([
    ...paid.map((id) => post(`/transactions/${id}/captures`, { amount: 1_234 })),
    move(),
    ...paid.map((id) => post(`/transactions/${id}/refunds`, { amount: 567 })),
    ...paid.map(() =>
      post(`/merchants/${merchant.id}/transactions`, { transactionId: source, currency: 'EUR', amount: 100 }),
    ),
    payOut(),
    disputed(source, 100),
  ])
  const statuses = answers.flatMap((answer) =>
    answer && typeof answer === 'object' && 'statusCode' in answer ? [answer.statusCode] : [],
  )
  expect(statuses).toEqual(Array.from({ length: 18 }, () => 201))
  expect([await shownCurrency(), await merchant.violations()]).toEqual(['EUR', []])
})

/** Loses the open disputes. They must take exactly the reserved amount, and their fees. */
async function settleAll(disputes: readonly string[]): Promise<void> {
  const [[reserve], before, count] = [await heldBack(0), await merchant.balance(), await countLost()]
  for (const dispute of disputes) await closeDispute(dispute, 'lost')
  const lost = (await countLost()) - count
  const fee = (await shownCurrency()) === 'EUR' ? 2_500 : 4_890
  expect(before - (await merchant.balance())).toBe(Number(reserve) + lost * fee)
}

async function countLost(): Promise<number> {
  const { rows } = await sql<{ count: bigint }>`
    SELECT count(*) FROM payments.disputes WHERE merchant_id = ${merchant.id} AND status = 'lost'`.execute(
    payments.owner.db,
  )
  return Number(rows[0]?.count)
}

it('holds after any operations before and after it, with answers of the acquirer in any order', async () => {
  const { pools } = payments.deps
  const step = fc.record({
    act: fc.constantFrom('capture', 'capture', 'refund', 'void', 'answer', 'answer', 'dispute', 'outcome', 'payout'),
    place: fc.nat(),
    amount: fc.integer({ min: 1, max: 700 }),
    answer: fc.constantFrom('accepted', 'rejected', 'unanswered'),
    outcome: fc.constantFrom('won', 'lost'),
  })
  const steps = fc.array(step, { minLength: 20, maxLength: 20 })
  await fc.assert(
    fc.asyncProperty(steps, fc.nat({ max: 19 }), async (drawn, moved) => {
      merchant = await createMerchantInLev(payments, app, north)
      const currencies = ['BGN', 'EUR', 'BGN']
      const paid = await Promise.all(
        currencies.map((currency) => customerPayment(payments, merchant.id, { currency, amount: 2_000 })),
      )
      const operations: string[] = []
      const disputes: string[] = []
      for (const [nth, { act, place, amount, answer, outcome }] of drawn.entries()) {
        if (nth === moved) await move()
        const id = paid[place % paid.length] ?? ''
        if (act === 'capture' || act === 'refund' || act === 'void') {
          const url = `/transactions/${id}/${act}s`
          const response = await payments.app.inject({ method: 'POST', url, headers: app.headers, payload: { amount } })
          if (response.statusCode === 201) operations.push(response.json().transaction.trail.at(-1).id)
        } else if (act === 'answer') {
          const operation = operations[place % operations.length]
          if (operation !== undefined)
            await callCloseOperation(pools, { merchantId: merchant.id, id: operation, outcome: answer, reason: null })
        } else if (act === 'dispute') {
          const body = { amount, reasonCode: 4853, reasonTitle: 'x', acquirerRef: `${merchant.id}-${nth}` }
          const { outcome: opened } = await callOpenDispute(pools, {
            ...TRUSTED_COLUMNS,
            transactionId: id,
            dispute: body,
          })
          if (opened?.verdict === 'opened') disputes.push(opened.dispute.id)
        } else if (act === 'outcome') {
          const disputeId = disputes[place % disputes.length]
          if (disputeId !== undefined) await closeDispute(disputeId, outcome)
        } else await payOut()
      }
      if (disputes.length > 0) await settleAll(disputes)
      expect(await merchant.violations()).toEqual([])
    }),
    { numRuns: 12 },
  )
}, 120_000)
