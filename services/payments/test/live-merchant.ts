import { type Kysely, sql, type Updateable } from 'kysely'
import { pino } from 'pino'
import { expect } from 'vitest'
import type { AcquirerTask, TaskOutcome } from '../src/acquirers/acquirer.ts'
import type { PaymentsTables } from '../src/database.ts'
import { submitOperation } from '../src/use-cases/submit-operation.ts'
import { verifyLedger } from '../src/use-cases/verify-ledger.ts'
import { customerPayment } from './customer-payment.ts'
import { createTestMerchant, type TestApp, type TestPayments } from './payments-app.ts'
import type { StubAcquirer } from './stub-acquirer.ts'

const logger = pino({ enabled: false })

/** Changes and records a merchant's row like an operator's command, but writes no event. */
export async function settle(
  db: Kysely<PaymentsTables>,
  merchantId: string,
  change: Updateable<PaymentsTables['merchants']>,
): Promise<void> {
  await db.updateTable('merchants').set(change).where('id', '=', merchantId).execute()
  await sql`
    SELECT ${sql.table('record_states')}(${merchantId}, 'merchants', ARRAY[${merchantId}])`.execute(db)
}

/** Creates a live merchant with the stub acquirer `north`, and functions for its clients and acquirer. */
export async function createLiveMerchant(
  payments: TestPayments,
  app: TestApp,
  { north, ...changes }: { readonly north: StubAcquirer; readonly [member: string]: unknown },
) {
  const { db } = payments.database
  const bank = { iban: 'DK5000400440116243' }
  const { id: merchantId } = await createTestMerchant(payments, app, { currency: 'EUR', bank, ...changes })
  await settle(db, merchantId, { acquirer: 'north' })
  const post = async (url: string, payload: object) => {
    const response = await payments.app.inject({ method: 'POST', url, headers: app.headers, payload })
    return { status: response.statusCode, body: response.json() }
  }
  return {
    id: merchantId,
    /** Charges a card, and returns the transaction id. */
    charge: async (amount: number, currency = 'EUR'): Promise<string> => {
      const source = await customerPayment(payments, merchantId, { number: '4242424242424242', currency })
      const payload = { transactionId: source, currency, amount }
      const { status, body } = await post(`/merchants/${merchantId}/transactions`, payload)
      expect(status).toBe(201)
      return body.transaction.id
    },
    /** Runs a capture, refund or void, and returns the id of its trail entry. */
    book: async (kind: AcquirerTask['kind'], transactionId: string, amount: number): Promise<string> => {
      const { status, body } = await post(`/transactions/${transactionId}/${kind}s`, { amount })
      expect([status, body]).toEqual([201, expect.anything()])
      return body.transaction.trail.at(-1).id
    },
    /** Sets the acquirer's answer, and hands an operation over as the job does. */
    answer: (id: string, outcome: TaskOutcome) => {
      north.answers.submit = async () => outcome
      return submitOperation({ ...payments.deps, db: payments.service.db, logger }, { merchantId, id })
    },
    get: async (transactionId: string) =>
      (await payments.app.inject({ url: `/transactions/${transactionId}`, headers: app.headers })).json().transaction,
    balance: async (): Promise<number> => {
      const { headers } = app
      return (await payments.app.inject({ url: `/merchants/${merchantId}`, headers })).json().merchant.balance
    },
    events: async (): Promise<string[]> => {
      const url = `/merchants/${merchantId}/events?limit=100`
      const list = (await payments.app.inject({ url, headers: app.headers })).json()
      return list.map(({ type }: { type: string }) => type)
    },
    exceptions: () => listExceptions(db, merchantId),
    violations: () => listViolations(db, merchantId),
    /** Moves the merchant's clock forward. */
    wait: async (days: number): Promise<void> => {
      const clock = { clock_offset: BigInt(days) * 86_400n }
      await db.updateTable('merchant_balances').set(clock).where('merchant_id', '=', merchantId).execute()
    },
  }
}

async function listExceptions(db: Kysely<PaymentsTables>, merchantId: string): Promise<unknown[]> {
  const rows = db.selectFrom('acquirer_exceptions').select('payload').where('merchant_id', '=', merchantId)
  return (await rows.orderBy('created').execute()).map(({ payload }) => payload)
}

/** Returns the violations of a merchant in `ledger verify`, except those about its clock. */
export async function listViolations(db: Kysely<PaymentsTables>, merchantId: string): Promise<object[]> {
  const found: object[] = []
  for await (const verified of verifyLedger(db, { merchantId, heads: new Map() })) found.push(...verified.violations)
  // Only in tests, a live merchant's clock runs ahead.
  return found.filter((violation) => !String(Reflect.get(violation, 'message')).startsWith('the clock runs'))
}

/** A merchant with a stub acquirer, and the functions of a test. */
export type LiveMerchant = Awaited<ReturnType<typeof createLiveMerchant>>
