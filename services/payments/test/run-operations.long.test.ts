import { anyId } from '@trestle/testing/any-text.ts'
import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { keyMac } from '../src/apps/app.ts'
import { CHAIN_START } from '../src/ledger/chain.ts'
import type { Rate } from '../src/money/ecb-rates.ts'
import { callRunOperations, type Operation, type OperationResult } from '../src/transactions/operation-group.ts'
import { customerPayment } from './customer-payment.ts'
import { readLinks, recomputeChain } from './ledger-fixtures.ts'
import { carryOut, type ModelTransaction, newTransaction } from './ledger-model.ts'
import {
  createTestApp,
  createTestMerchant,
  placement,
  startPayments,
  type TestApp,
  type TestPayments,
  testPepper,
  UNKNOWN_ID,
} from './payments-app.ts'

let payments: TestPayments
let app: TestApp
let rates: readonly Rate[]
beforeAll(async () => {
  payments = await startPayments()
  app = await createTestApp(payments)
  const found = await sql<Rate>`
    SELECT currency, date::text AS date, source, trim_scale(rate)::text AS rate FROM ${sql.table('fx_rates')}`
  rates = (await found.execute(payments.database.db)).rows
})
afterAll(() => payments.close())

const TERMS = { marginBasisPoints: 0, ageDaysMax: 7 }
const today = () => new Date().toISOString().slice(0, 10)

function operationOf(operation: Pick<Operation, 'transactionId' | 'kind' | 'amount'> & Partial<Operation>): Operation {
  return { keyMac: keyMac(testPepper, app.key), userEmail: null, idempotentRequest: undefined, ...operation }
}
/** As one batch, or as the batches of one merchant each that the service makes where the database is distributed. */
const runOperations = async (operations: readonly Operation[], terms = TERMS) => {
  const batchOf =
    placement.batchScope === 'any' ? () => '' : (operation: Operation) => operation.transactionId.slice(16)
  const results = new Map<Operation, OperationResult | undefined>()
  for (const batch of Map.groupBy(operations, batchOf).values()) {
    const done = await callRunOperations(payments.database.pools, batch, terms)
    for (const [index, operation] of batch.entries()) results.set(operation, done[index])
  }
  return operations.flatMap((operation) => results.get(operation) ?? [])
}

describe('run_operations', () => {
  it('agrees with the model after any batches of operations', async () => {
    const merchants = await Promise.all(
      ['DKK', 'EUR', 'USD'].map(async (currency) => {
        const { id } = await createTestMerchant(payments, app, { currency, test: true })
        return { id, currency }
      }),
    )
    const state = new Map<string, ModelTransaction>()
    const owners = new Map<string, string>()
    const balances = new Map(merchants.map(({ id }) => [id, 0n]))
    for (const merchant of merchants) {
      for (const [currency, amount] of [
        ['EUR', 10_000],
        ['DKK', 3],
        ['JPY', 5_000],
        ['KWD', 12_345],
        ['IDR', 900_000],
      ] as const) {
        const id = await customerPayment(payments, merchant.id, { currency, amount })
        state.set(id, newTransaction(currency, merchant.currency, BigInt(amount)))
        owners.set(id, merchant.id)
      }
    }
    const ids = [...state.keys()]
    const operation = fc.record({
      transactionId: fc.constantFrom(...ids),
      kind: fc.constantFrom('capture', 'capture', 'refund', 'void'),
      amount: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 4_000 })),
    })
    const batch = fc.uniqueArray(operation, {
      selector: ({ transactionId }) => transactionId,
      minLength: 1,
      maxLength: 15,
    })
    await fc.assert(
      fc.asyncProperty(batch, async (operations) => {
        const results = await runOperations(operations.map(operationOf))
        for (const [index, each] of operations.entries()) {
          const before = state.get(each.transactionId)
          const outcome = results[index]?.outcome
          if (!before) throw new Error('the model knows every transaction')
          const expected = carryOut(before, { ...each, amount: BigInt(each.amount) }, { rates, day: today() })
          if (expected.outcome === 'limit-exceeded') {
            const refusal = { reason: 'limit-exceeded', currency: before.currency, possible: expected.possible }
            expect(outcome).toEqual({ verdict: 'refused', refusal })
            continue
          }
          const transaction = outcome?.verdict === 'done' ? outcome.transaction : undefined
          const { amounts, trailLength } = expected.transaction
          const { lost, ...shown } = amounts
          const { amount, pending, captured, refunded, voided, disputed } = transaction ?? {}
          expect({ amount, pending, captured, refunded, voided, disputed }).toEqual(shown)
          expect(transaction?.trail).toHaveLength(trailLength)
          const entry = transaction?.trail.at(-1)
          const { kind, balance, feeFlat, feeRate } = entry ?? {}
          expect({ kind, amount: entry?.amount, balance, feeFlat, feeRate }).toEqual({
            kind: each.kind,
            amount: each.amount,
            balance: Number(expected.balance),
            feeFlat: Number(expected.fee.flat),
            feeRate: Number(expected.fee.rate),
          })
          state.set(each.transactionId, expected.transaction)
          const merchantId = owners.get(each.transactionId) ?? ''
          balances.set(merchantId, (balances.get(merchantId) ?? 0n) + expected.balance)
        }
      }),
      { numRuns: 60 },
    )
    for (const { id } of merchants) {
      const balance = await payments.database.db
        .selectFrom('merchant_balances')
        .selectAll()
        .where('merchant_id', '=', id)
        .executeTakeFirstOrThrow()
      expect(balance.balance).toBe(balances.get(id))
      expect(recomputeChain(await readLinks(payments.database.db, id), CHAIN_START)).toEqual(balance.chain_head)
    }
  })

  it('judges the items of a batch one by one, in their order', async () => {
    const stranger = await createTestApp(payments)
    const { id: merchantId } = await createTestMerchant(payments, app, { test: true })
    const id = () => customerPayment(payments, merchantId, { currency: 'DKK', amount: 300 })
    const capture = (transactionId: string, changes: Partial<Operation> = {}) =>
      operationOf({ transactionId, kind: 'capture', amount: 100, ...changes })
    const results = await runOperations([
      capture(await id()),
      capture(UNKNOWN_ID),
      capture(await id(), { keyMac: keyMac(testPepper, stranger.key) }),
      capture(await id(), { keyMac: keyMac(testPepper, 'x') }),
      capture(await id(), { amount: 301 }),
      capture(await id(), { currency: 'EUR' }),
      capture(await id(), { kind: 'void' }),
    ])
    expect(
      results.map(({ verdict, outcome }) => (outcome?.verdict === 'refused' ? outcome.refusal.reason : verdict)),
    ).toEqual(['done', 'not-found', 'forbidden', 'unauthorized', 'limit-exceeded', 'currency-mismatch', 'done'])
    expect(results.map(({ outcome }) => outcome?.verdict)).toEqual([
      'done',
      undefined,
      undefined,
      undefined,
      'refused',
      'refused',
      'done',
    ])
  })

  it('refuses captures after the 200th entry of a trail, and every operation after the 300th', async () => {
    const { id: merchantId } = await createTestMerchant(payments, app, { test: true })
    const id = await customerPayment(payments, merchantId, { currency: 'DKK', amount: 300 })
    const runAt = async (trailLength: number, kind: Operation['kind']) => {
      const trail = { trail_length: trailLength }
      await payments.database.db.updateTable('transactions').set(trail).where('id', '=', id).execute()
      const [result] = await runOperations([operationOf({ transactionId: id, kind, amount: 1 })])
      return result?.outcome?.verdict === 'refused' ? result.outcome.refusal : result?.verdict
    }
    const full = { reason: 'trail-full' }
    expect([await runAt(198, 'capture'), await runAt(199, 'capture')]).toEqual(['done', 'done'])
    expect(await runAt(200, 'capture')).toEqual(full)
    expect([await runAt(298, 'refund'), await runAt(300, 'refund')]).toEqual(['done', full])
    expect([await runAt(299, 'void'), await runAt(300, 'void')]).toEqual(['done', full])
  })

  it('subtracts the margin from the rate of an exchange, and shows the rate after it', async () => {
    const { id: merchantId } = await createTestMerchant(payments, app, { test: true, currency: 'EUR' })
    const id = await customerPayment(payments, merchantId, { currency: 'EUR', amount: 300 })
    const foreign = await customerPayment(payments, merchantId, { currency: 'USD', amount: 100_000 })
    const capture = (transactionId: string) => operationOf({ transactionId, kind: 'capture', amount: 100 })
    const [plain] = await runOperations([capture(foreign)])
    const terms = { ...TERMS, marginBasisPoints: 5_000 }
    const [own, lessened] = await runOperations([capture(id), capture(foreign)], terms)
    const trailOf = (result: typeof own) =>
      result?.outcome?.verdict === 'done' ? result.outcome.transaction.trail : []
    const rateOf = (result: typeof own) => Number(trailOf(result).at(-1)?.rate)
    expect(trailOf(own)[0]).toEqual({
      balance: 100 - 25 - 1,
      rate: null,
      id: anyId,
      kind: 'capture',
      created: expect.any(String),
      amount: 100,
      feeFlat: 25,
      feeRate: 1,
      descriptor: 'Coffee & John',
      reference: null,
      lineId: anyId,
      disputeId: null,
      rateDate: null,
    })
    expect(rateOf(lessened)).toBeCloseTo(rateOf(plain) / 2, 6)
  })
})
