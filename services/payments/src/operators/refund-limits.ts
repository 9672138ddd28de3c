import { isCurrency } from '../money/currencies.ts'

/** Amounts in minor units by currency. */
export type Amounts = ReadonlyMap<string, number>

/** The maximum refunds of an operator with the role support (console reference: Refund quota). */
export interface RefundLimits {
  /** The maximum amount of one refund. */
  readonly once: Amounts
  /** The maximum amount in one UTC day. */
  readonly daily: Amounts
}

/** A refund in the currency of its transaction, in minor units. */
interface Refund {
  readonly currency: string
  readonly amount: number
}

/**
 * The verdict on one refund. `limit` is the maximum of one refund, and `daily` the maximum of a day. If the verdict is `within`,
 * the refund takes `counted` from the rest of the day, which may still be too small.
 */
export type RefundVerdict =
  | { readonly verdict: 'not-allowed' }
  | { readonly verdict: 'exceeded'; readonly limit: number; readonly daily: number }
  | { readonly verdict: 'within'; readonly limit: number; readonly daily: number; readonly counted: number }

/** The maximum refunds per operator, UTC day and currency, however small. A merchant pays a fee for each refund. */
const REFUNDS_DAILY = 100

/**
 * The smallest amount that a refund takes from the daily quota, in minor units.
 * @param daily the daily quota, in minor units
 */
function leastCounted(daily: number): number {
  return Math.ceil(daily / REFUNDS_DAILY)
}

/** What may still be refunded today, in minor units. 0 if less is left than the smallest amount that a refund takes. */
export function refundableOf(left: number, daily: number): number {
  return left < leastCounted(daily) ? 0 : left
}

/** Judges one refund. A currency without both limits is not allowed, so a forgotten limit allows no refunds. */
export function judgeRefund({ once, daily }: RefundLimits, { currency, amount }: Refund): RefundVerdict {
  const [limit, ofDay] = [once.get(currency), daily.get(currency)]
  if (limit === undefined || ofDay === undefined) return { verdict: 'not-allowed' }
  if (amount > limit) return { verdict: 'exceeded', limit, daily: ofDay }
  return { verdict: 'within', limit, daily: ofDay, counted: Math.max(amount, leastCounted(ofDay)) }
}

const ENTRY = /^(?<currency>[A-Z]{3}):(?<amount>[1-9]\d{0,11})$/

/**
 * Reads a text like `EUR:10000,DKK:75000`. Accepts withdrawn currencies, because payments in them can still be refunded. Returns
 * `undefined` if an entry is malformed, or if a currency is not listed or occurs twice.
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
