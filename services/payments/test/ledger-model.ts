import { currencyExponent } from '../src/money/currencies.ts'
import type { Rate } from '../src/money/ecb-rates.ts'
import { rateOfDay } from '../src/money/rates.model.ts'
import {
  type Amounts,
  authorized,
  type CapturedAmount,
  capturedValue,
  divideHalfEven,
  exchange,
  runOperation,
} from '../src/transactions/amounts.model.ts'
import type { OperationKind } from '../src/transactions/transaction.ts'

/** The fees of new merchants in tests: 135 basis points and EUR 0.25. */
const RATE_BASIS_POINTS = 135n
const WHOLE_BASIS_POINTS = 10_000n
const FLAT = { from: 'EUR', amount: 25n }

/** A capture with its exchange rate. */
export interface ModelCapture extends CapturedAmount {
  readonly rateKey: string
}

/** A transaction in the TypeScript model. */
export interface ModelTransaction {
  readonly currency: string
  readonly merchantCurrency: string
  readonly amounts: Amounts
  readonly captures: readonly ModelCapture[]
  readonly trailLength: number
}

/** The effect of an operation on the transaction and on the merchant's balance. */
export type ModelOutcome =
  | {
      readonly outcome: 'done'
      readonly transaction: ModelTransaction
      readonly balance: bigint
      readonly fee: { readonly flat: bigint; readonly rate: bigint }
    }
  | { readonly outcome: 'limit-exceeded'; readonly possible: bigint }

/** Returns an authorized transaction without captures. @param amount in minor units of `currency` */
export function newTransaction(currency: string, merchantCurrency: string, amount: bigint): ModelTransaction {
  return { currency, merchantCurrency, amounts: authorized(amount), captures: [], trailLength: 0 }
}

/** Runs an operation at the rates of a day (`2026-03-01`). */
export function carryOut(
  transaction: ModelTransaction,
  { kind, amount }: { readonly kind: OperationKind; readonly amount: bigint },
  market: Market,
): ModelOutcome {
  const result = runOperation(transaction.amounts, kind, amount)
  if (result.verdict === 'limit-exceeded') return { outcome: 'limit-exceeded', possible: result.possible }
  const moved = { ...transaction, amounts: result.amounts, trailLength: transaction.trailLength + 1 }
  if (kind === 'void') {
    return { outcome: 'done', transaction: moved, balance: 0n, fee: { flat: 0n, rate: 0n } }
  }
  const { captures, merchantCurrency: to } = transaction
  if (kind === 'refund') {
    const gross = reversalGross(transaction, amount)
    return { outcome: 'done', transaction: moved, balance: -gross, fee: { flat: 0n, rate: 0n } }
  }
  const worth = captureWorth({ from: transaction.currency, to, amount, captures }, market)
  const rateKey = rateKeyOf({ from: transaction.currency, to }, market)
  const grown = [...captures, { amount, gross: worth.gross, rateKey }]
  return { outcome: 'done', transaction: { ...moved, captures: grown }, ...worth }
}

/** The rates, and the day (`2026-03-01`) of the operation. */
export interface Market {
  readonly rates: readonly Rate[]
  readonly day: string
}

interface FurtherCapture extends Pair {
  readonly amount: bigint
  /** The earlier captures. */
  readonly captures: readonly ModelCapture[]
}

interface Pair {
  readonly from: string
  readonly to: string
}

/**
 * Returns the worth of a capture for a merchant with the usual fees. It is the difference in the worth of all captures at its
 * rate, and in the percentage fee of all captures.
 * @see SQL function `decide_operation`
 */
export function captureWorth({ from, to, amount, captures }: FurtherCapture, market: Market) {
  const sameRate = captures.filter(({ rateKey }) => rateKey === rateKeyOf({ from, to }, market))
  const before = sameRate.reduce((sum, capture) => sum + capture.amount, 0n)
  const gross = convert({ from, to, amount: before + amount }, market) - convert({ from, to, amount: before }, market)
  const grossBefore = captures.reduce((sum, capture) => sum + capture.gross, 0n)
  const fee = {
    flat: convert({ ...FLAT, to }, market),
    rate: percentageFee(grossBefore + gross) - percentageFee(grossBefore),
  }
  return { gross, fee, balance: gross - fee.flat - fee.rate }
}

function percentageFee(gross: bigint): bigint {
  return divideHalfEven(gross * RATE_BASIS_POINTS, WHOLE_BASIS_POINTS)
}

/** Returns the exchange rate between two currencies on a day. */
export function rateKeyOf({ from, to }: Pair, { rates, day }: Market): string {
  return from === to ? '' : [from, to].map((currency) => rateOfDay(rates, currency, day)?.rate).join('/')
}

/** Returns the worth of reversing this further amount. */
export function reversalGross(
  { captures, amounts }: Pick<ModelTransaction, 'amounts'> & { readonly captures: readonly CapturedAmount[] },
  amount: bigint,
): bigint {
  const reversed = amounts.refunded + amounts.lost
  return capturedValue(captures, reversed + amount) - capturedValue(captures, reversed)
}

/** Exchanges an amount. The same currency needs no rate. */
export function convert(
  { from, to, amount }: { readonly from: string; readonly to: string; readonly amount: bigint },
  { rates, day }: Market,
): bigint {
  if (from === to) return amount
  const [sold, bought] = [quoteOf(rates, from, day), quoteOf(rates, to, day)]
  return exchange({ amount, from: sold, to: bought, marginBasisPoints: 0n }).amount
}

function quoteOf(rates: readonly Rate[], currency: string, day: string) {
  const exponent = currencyExponent(currency)
  const rate = rateOfDay(rates, currency, day)
  if (exponent === undefined || !rate) throw new Error(`${currency} has no rate`)
  return { exponent, rate: rate.rate }
}
