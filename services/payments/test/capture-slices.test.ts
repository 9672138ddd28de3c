import { anyId } from '@trestle/testing/any-text.ts'
import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { keyMac } from '../src/apps/app.ts'
import { callRunOperations } from '../src/transactions/operation-group.ts'
import { createLiveMerchant } from './live-merchant.ts'
import { createTestApp, startPayments, type TestApp, type TestPayments, testPepper } from './payments-app.ts'
import { createStubAcquirer, type StubAcquirer } from './stub-acquirer.ts'

// The full test: CAPTURE_SLICES=200 npx vitest run services/payments/test/capture-slices.test.ts
const SLICES = Number(process.env.CAPTURE_SLICES ?? 30)
const REJECTED = { verdict: 'rejected', reason: 'closed' } as const
/** Tests use exchange rates that are too old for live merchants. */
const TERMS = { marginBasisPoints: 0, ageDaysMax: 100_000 }
let north: StubAcquirer
let payments: TestPayments
let app: TestApp
let merchant: Awaited<ReturnType<typeof createLiveMerchant>>
beforeAll(async () => {
  north = createStubAcquirer()
  payments = await startPayments({ acquirers: new Map([['north', north]]) })
  app = await createTestApp(payments)
})
beforeEach(async () => {
  merchant = await createLiveMerchant(payments, app, { north, test: true })
  await price(135, 0)
})
afterAll(() => payments.close())

const price = async (rate: number, flat: number) => {
  const change = JSON.stringify({ pricing: { rate, flat: { currency: 'EUR', amount: flat } } })
  await sql`SELECT FROM ${sql.table('change_merchant')}(${merchant.id}, ${change})`.execute(payments.database.db)
}
const capture = async (transactionId: string, amount: number) => {
  const caller = { keyMac: keyMac(testPepper, app.key), userEmail: null, idempotentRequest: undefined }
  const operation = { ...caller, kind: 'capture' as const, transactionId, amount }
  const [result] = await callRunOperations(payments.database.pools, [operation], TERMS)
  const entry = result?.outcome?.verdict === 'done' ? result.outcome.transaction.trail.at(-1) : undefined
  if (!entry) throw new Error(`a capture of ${amount} was ${result?.verdict}`)
  return { id: entry.id, balance: entry.balance, fee: entry.feeFlat + entry.feeRate }
}
const captureEach = async (transactionId: string, amounts: readonly number[]) => {
  let [balance, fee] = [0, 0]
  for (const amount of amounts) {
    const entry = await capture(transactionId, amount)
    balance += entry.balance
    fee += entry.fee
  }
  return { balance, fee }
}

describe('captures of one transaction', () => {
  it.each([
    ['JPY', 200, 1],
    ['EUR', 37 * SLICES, 37],
    ['IDR', 100 * SLICES, 100],
    ['USD', 7 * SLICES - 1, 7],
  ])('in %s, of %i in slices of %i, bring what one capture brings', async (currency, total, slice) => {
    const whole = await captureEach(await merchant.charge(total, currency), [total])
    const slices = Array.from({ length: Math.ceil(total / slice) }, (_, n) => Math.min(slice, total - n * slice))
    expect(await captureEach(await merchant.charge(total, currency), slices)).toEqual(whole)
    expect(await merchant.violations()).toEqual([])
  })

  it('in any slices, with refunds between them, bring what one capture brings', async () => {
    const slices = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('JPY', 'EUR', 'KWD', 'DKK'), slices, async (currency, amounts) => {
        const total = amounts.reduce((sum, amount) => sum + amount, 0)
        const whole = await captureEach(await merchant.charge(total, currency), [total])
        const id = await merchant.charge(total, currency)
        const [first = 0, ...rest] = amounts
        const brought = await captureEach(id, [first])
        await merchant.book('refund', id, 1)
        const more = await captureEach(id, rest)
        expect({ balance: brought.balance + more.balance, fee: brought.fee + more.fee }).toEqual(whole)
      }),
      { numRuns: 15 },
    )
    expect(await merchant.violations()).toEqual([])
  })

  it('pay the flat fee each, and a new percentage only on what follows it', async () => {
    await price(135, 25)
    const id = await merchant.charge(4_000)
    expect(await capture(id, 1_000)).toEqual({ balance: 1_000 - 25 - 14, fee: 39, id: anyId })
    await price(200, 10)
    expect(await capture(id, 1_000)).toEqual({ balance: 1_000 - 10 - 20, fee: 30, id: anyId })
  })

  it('apply a new rate to later captures only', async () => {
    const id = await merchant.charge(1_000, 'JPY')
    const { balance } = await capture(id, 500)
    await sql`
      INSERT INTO ${sql.table('fx_rates')} (date, currency, source, rate)
      VALUES (current_date, 'JPY', 'ecb', 100)`.execute(payments.database.db)
    const later = await capture(id, 500)
    await sql`DELETE FROM ${sql.table('fx_rates')} WHERE date = current_date`.execute(payments.database.db)
    expect([balance > 0, later.balance + later.fee]).toEqual([true, 500])
  })

  it('give back exactly what they brought when the acquirer rejects them, and the next capture continues from there', async () => {
    merchant = await createLiveMerchant(payments, app, { north })
    await price(135, 0)
    const id = await merchant.charge(3_700)
    for (let n = 0; n < 20; n++) await capture(id, 37)
    const before = await merchant.balance()
    const entry = await capture(id, 60)
    await merchant.answer(entry.id, REJECTED)
    expect(await merchant.balance()).toBe(before)
    const again = await capture(id, 60)
    expect(again).toEqual({ balance: entry.balance, fee: entry.fee, id: anyId })
    expect(await merchant.violations()).toEqual([])
  })
})
