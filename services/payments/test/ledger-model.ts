import { currencyExponent } from '../src/money/currencies.ts'
import { exchange } from '../src/money/exchange.ts'
import { operationFee } from '../src/money/fees.ts'
import { type Rate, rateOfDay } from '../src/money/rates.ts'
import { type CapturedAmount, capturedValue } from '../src/money/reversal.ts'
import { type Amounts, authorized, type Operation, operate } from '../src/transactions/amounts.ts'

/** What new merchants pay in the tests: 135 basis points and EUR 0.25. */
const RATE_BASIS_POINTS = 135n
const FLAT = { currency: 'EUR', amount: 25n }

/** A transaction as the rules in TypeScript have it. */
export interface ModelTransaction {
  readonly currency: string
  readonly merchantCurrency: string
  readonly amounts: Amounts
  readonly captures: readonly CapturedAmount[]
  readonly trailLength: number
}

/** What an operation does: to the transaction, and to the merchant's balance. */
export type ModelOutcome =
  | {
      readonly outcome: 'done'
      readonly transaction: ModelTransaction
      readonly balance: bigint
      readonly fee: { readonly flat: bigint; readonly rate: bigint }
    }
  | { readonly outcome: 'limit-exceeded'; readonly possible: bigint }

export function newTransaction(currency: string, merchantCurrency: string, amount: bigint): ModelTransaction {
  return { currency, merchantCurrency, amounts: authorized(amount), captures: [], trailLength: 0 }
}

/** Carries an operation out at the rates of a day (`2026-03-01`). */
export function carryOut(
  transaction: ModelTransaction,
  { operation, amount }: { readonly operation: Operation; readonly amount: bigint },
  { rates, day }: { readonly rates: readonly Rate[]; readonly day: string },
): ModelOutcome {
  const result = operate(transaction.amounts, operation, amount)
  if (result.verdict === 'limit-exceeded') return { outcome: 'limit-exceeded', possible: result.possible }
  const moved = { ...transaction, amounts: result.amounts, trailLength: transaction.trailLength + 1 }
  if (operation === 'void') {
    return { outcome: 'done', transaction: moved, balance: 0n, fee: { flat: 0n, rate: 0n } }
  }
  const convert = (value: bigint, from: string) =>
    from === transaction.merchantCurrency
      ? value
      : exchange({
          ...{ amount: value, from: quoteOf(rates, from, day), marginBasisPoints: 0n },
          to: quoteOf(rates, transaction.merchantCurrency, day),
        }).amount
  if (operation === 'refund') {
    const reversed = transaction.amounts.refunded + transaction.amounts.lost
    const { captures } = transaction
    const gross = capturedValue(captures, reversed + amount) - capturedValue(captures, reversed)
    return { outcome: 'done', transaction: moved, balance: -gross, fee: { flat: 0n, rate: 0n } }
  }
  const gross = convert(amount, transaction.currency)
  const price = { rateBasisPoints: RATE_BASIS_POINTS, flat: convert(FLAT.amount, FLAT.currency) }
  const fee = operationFee('capture', gross, price)
  const captures = [...transaction.captures, { amount, gross }]
  return { outcome: 'done', transaction: { ...moved, captures }, balance: gross - fee.flat - fee.rate, fee }
}

function quoteOf(rates: readonly Rate[], currency: string, day: string) {
  const exponent = currencyExponent(currency)
  const rate = rateOfDay(rates, currency, day)
  if (exponent === undefined || !rate) throw new Error(`${currency} has no rate`)
  return { exponent, rate: rate.rate }
}
