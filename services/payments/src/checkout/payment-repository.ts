import type { Pools } from '@trestle/database/pools.ts'
import { prepare, routeByTenant } from '@trestle/database/prepare.ts'
import { type RawBuilder, sql } from 'kysely'
import { type CallerColumns, callerRow } from '../access/caller.ts'
import type { AttemptColumns } from '../acquirers/finish-attempt.ts'
import type { ScenarioChanges } from '../cards/scenario.ts'
import type { Money } from '../money/minor-units.ts'
import { type PaymentEnd, toEnd } from './checkout-repository.ts'

/** A payment as it is stored before the acquirer is asked. A payment without a session can only be refused. */
export interface BeginPaymentCall extends CallerColumns {
  readonly merchantId: string
  readonly sessionId: string | null
  readonly encryptedPan: Buffer
  readonly panMac: Buffer
  readonly payment: {
    readonly test: boolean
    /** `null` stands for the simulator. */
    readonly acquirer: string | null
    readonly currency: string
    /** In minor units of `currency`. */
    readonly amount: number
    readonly descriptor: string
    readonly reference: string | undefined
    readonly custom: unknown
    readonly tds: 'full' | 'attempt' | null
    readonly plan: readonly object[] | undefined
    readonly unplanned: object | undefined
    readonly tokens: readonly { readonly jti: string; readonly expires: Date }[]
    readonly instrument: {
      readonly id: string
      readonly keyId: number
      readonly bin: string
      readonly last4: string
      /** The last day on which the card is valid, such as `2066-08-31`. */
      readonly expiry: string
      readonly scheme: string | null
      readonly scenario: ScenarioChanges
      readonly planned: boolean
    }
  }
}

interface BegunPaymentRow {
  verdict: 'done' | 'finished' | 'running' | 'spent' | 'gone' | 'key-mismatch'
  attempt_id: string | null
  transaction_id: string | null
  status_code: string | null
}

/**
 * `begun`: the service may ask the acquirer. `ended`: the end of the session, or of the first request with the key. `running`:
 * another request makes the payment. `spent`: a token has paid this merchant before. `gone`: the session has expired or does not
 * exist. `key-mismatch`: the Idempotency-Key was used with another order.
 */
export type BegunPayment =
  | { readonly verdict: 'begun'; readonly attemptId: string }
  | { readonly verdict: 'ended'; readonly end: PaymentEnd }
  | { readonly verdict: 'running' | 'spent' | 'gone' | 'key-mismatch' }

const beginQuery = prepare(
  'begin_payment',
  (p: BeginPaymentCall) => sql<BegunPaymentRow>`
    SELECT verdict, attempt_id, transaction_id, status_code FROM ${sql.table('begin_payment')}(
      ${callerRow(p)}, ${p.merchantId}, ${p.sessionId}, ${p.payment}, ${p.encryptedPan}, ${p.panMac}
    )`,
)

/**
 * Claims the session, the Idempotency-Key and the tokens of a payment, and stores its attempt.
 * @throws Error if the session or key has ended but its row contains no end
 */
export async function callBeginPayment(pools: Pools, input: BeginPaymentCall): Promise<BegunPayment> {
  const { verdict, attempt_id: attemptId, transaction_id, status_code } = await pools.write.one(beginQuery, input)
  if (verdict !== 'done' && verdict !== 'finished') return { verdict }
  if (attemptId !== null) return { verdict: 'begun', attemptId }
  const end = toEnd(transaction_id, status_code)
  if (!end) throw new Error(`begin_payment answered ${verdict} without an end`)
  return { verdict: 'ended', end }
}

interface PaidInput {
  readonly merchantKey: string
  readonly transactionId: string
}

interface PaidOrder {
  readonly money: Money
  readonly reference: string | null
  readonly text: string | null
  readonly last4: string
}

interface PaidRow extends Omit<PaidOrder, 'money'> {
  readonly currency: string
  readonly amount: bigint
}

const paid = (p: PaidInput, merchantId: RawBuilder<unknown>) => sql<PaidRow>`
    SELECT t.currency, t.amount, t.reference, t.custom ->> 'text' AS text, i.last4
    FROM ${sql.table('merchants')} m
    JOIN ${sql.table('transactions')} t ON t.merchant_id = ${merchantId} AND t.id = ${p.transactionId}
    JOIN ${sql.table('instruments')} i ON i.merchant_id = ${merchantId} AND i.id = t.instrument_id
    WHERE m.key = ${p.merchantKey}::uuid`

const paidQuery = routeByTenant(
  prepare('get_paid_order', (p: PaidInput) => paid(p, sql`m.id`)),
  ({ merchantKey }, find) => find(merchantKey),
  (p) => paid(p, sql`${p.tenant}`),
)

/** Returns the order that a transaction paid. @throws Error if the merchant has no such transaction */
export async function getPaidOrder(pools: Pools, input: PaidInput): Promise<PaidOrder> {
  const { currency, amount, ...others } = await pools.read.one(paidQuery, input)
  return { money: { currency, amount: Number(amount) }, ...others }
}

export interface FinishPaymentCall extends AttemptColumns {
  readonly merchantId: string
  readonly attemptId: string
}

const finishQuery = prepare(
  'finish_payment',
  (p: FinishPaymentCall) => sql<{ transaction_id: string | null }>`
    SELECT transaction_id FROM ${sql.table('finish_payment')}(
      ${p.merchantId}, ${p.attemptId}, ${p.outcome}, ${p.statusCode}, ${p.errorCode}, ${p.acquirerRef}, ${p.networkRef}
    )`,
)

/** Writes the transaction of an attempt. Resolves to `undefined` if another process has already marked the attempt as unknown. */
export async function callFinishPayment(pools: Pools, input: FinishPaymentCall): Promise<string | undefined> {
  return (await pools.write.one(finishQuery, input)).transaction_id ?? undefined
}
