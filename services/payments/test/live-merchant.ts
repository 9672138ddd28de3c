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

/** Changes the row of a merchant and records it, as a command of an operator does, but writes no event. */
export async function settle(
  db: Kysely<PaymentsTables>,
  merchantId: string,
  change: Updateable<PaymentsTables['merchants']>,
): Promise<void> {
  await db.updateTable('merchants').set(change).where('id', '=', merchantId).execute()
  await sql`
    SELECT ${sql.table('record_states')}(${merchantId}, 'merchants', ARRAY[${merchantId}])`.execute(db)
}

/** A live merchant with the stub acquirer `north`, and the acts of its clients and its acquirer. */
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
    /** Charges a card, and answers the id of the transaction. */
    charge: async (amount: number, currency = 'EUR'): Promise<string> => {
      const source = await customerPayment(payments, merchantId, { number: '4242424242424242', currency })
      const payload = { transactionId: source, currency, amount }
      const { status, body } = await post(`/merchants/${merchantId}/transactions`, payload)
      expect(status).toBe(201)
      return body.transaction.id
    },
    /** Runs a capture, refund or void, and answers the id of its trail entry. */
    book: async (kind: AcquirerTask['kind'], transactionId: string, amount: number): Promise<string> => {
      const { status, body } = await post(`/transactions/${transactionId}/${kind}s`, { amount })
      expect([status, body]).toEqual([201, expect.anything()])
      return body.transaction.trail.at(-1).id
    },
    /** Lets the acquirer answer when the job hands an operation over. */
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
    /** Moves the merchant's clock forward by days. */
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

/** The violations that `ledger verify` finds at a merchant, but for its clock. */
export async function listViolations(db: Kysely<PaymentsTables>, merchantId: string): Promise<object[]> {
  const found: object[] = []
  for await (const verified of verifyLedger(db, { merchantId, heads: new Map() })) found.push(...verified.violations)
  // Only in tests does the clock of a live merchant run ahead.
  return found.filter((violation) => !String(Reflect.get(violation, 'message')).startsWith('the clock runs'))
}

/** A merchant whose acquirer is a stub, and what a test does with it. */
export type LiveMerchant = Awaited<ReturnType<typeof createLiveMerchant>>
