import { isCurrency } from '../money/currencies.ts'

/** Amounts in minor units by currency. */
export type Amounts = ReadonlyMap<string, number>

/** The most that an operator with the role support may refund (console reference: Refund quota). */
export interface RefundLimits {
  /** At once. */
  readonly once: Amounts
  /** In one UTC day. */
  readonly daily: Amounts
}

/** A refund in the currency of its transaction, in minor units. */
interface Refund {
  readonly currency: string
  readonly amount: number
}

/**
 * The verdict on a refund by itself. `limit` is the most of one refund, `daily` the most of a day. For `within`, the rest of
 * the day decides, from which the refund takes `counted`.
 */
export type RefundVerdict =
  | { readonly verdict: 'not-allowed' }
  | { readonly verdict: 'exceeded'; readonly limit: number; readonly daily: number }
  | { readonly verdict: 'within'; readonly limit: number; readonly daily: number; readonly counted: number }

/** The most refunds of an operator in one UTC day and currency, however small: a merchant pays a fee for each. */
const REFUNDS_DAILY = 100

/** The least that a refund counts for, in minor units. @param daily the most of a day */
function leastCounted(daily: number): number {
  return Math.ceil(daily / REFUNDS_DAILY)
}

/** The amount that may still be refunded of a day: nothing where less is left than a refund counts for. In minor units. */
export function refundableOf(left: number, daily: number): number {
  return left < leastCounted(daily) ? 0 : left
}

/** Judges a refund by itself. A currency without both limits is not allowed, so that a forgotten limit refunds nothing. */
export function judgeRefund({ once, daily }: RefundLimits, { currency, amount }: Refund): RefundVerdict {
  const [limit, ofDay] = [once.get(currency), daily.get(currency)]
  if (limit === undefined || ofDay === undefined) return { verdict: 'not-allowed' }
  if (amount > limit) return { verdict: 'exceeded', limit, daily: ofDay }
  return { verdict: 'within', limit, daily: ofDay, counted: Math.max(amount, leastCounted(ofDay)) }
}

const ENTRY = /^(?<currency>[A-Z]{3}):(?<amount>[1-9]\d{0,11})$/

/**
 * Reads `EUR:10000,DKK:75000`, also in currencies that have ended: payments in them are refunded as before. Undefined when an
 * entry is malformed, or a currency is not listed or comes twice.
 */
export function parseAmounts(text: string): Amounts | undefined {
  const entries = text.split(',').map((entry) => ENTRY.exec(entry.trim())?.groups)
  const amounts = new Map<string, number>()
  for (const { currency = '', amount = '' } of entries.map((groups) => groups ?? {})) {
    if (!isCurrency(currency) || amounts.has(currency)) return undefined
    amounts.set(currency, Number(amount))
  }
  return amounts
}
