import { divideHalfEven } from '../money/rounding.model.ts'

/** A capture: minor units of the transaction, and what they brought in the merchant's currency. */
export interface CapturedAmount {
  readonly amount: bigint
  readonly gross: bigint
}

/**
 * What the first `amount` minor units of the captures brought, first captured first. A reversal of x after X is worth the
 * value of X + x less the value of X, so reversing everything returns exactly what was brought.
 * The model of the SQL function `captured_value` (reference: Worth of a reversal).
 */
export function capturedValue(captures: readonly CapturedAmount[], amount: bigint): bigint {
  let [rest, value] = [amount, 0n]
  for (const capture of captures) {
    if (rest <= 0n) break
    value += rest >= capture.amount ? capture.gross : divideHalfEven(rest * capture.gross, capture.amount)
    rest -= capture.amount
  }
  return value
}

/** A part of a trail that is about captures. Amounts are signed: below 0 the acquirer has rejected what `takesBack` names. */
export interface CaptureEntry extends CapturedAmount {
  readonly id: string
  readonly takesBack: string | undefined
}

/**
 * What is left of each capture, in order, without what was rejected of it. A part keeps its share of what the capture brought.
 * The model of the SQL function `net_captures` (reference: Worth of a correction).
 */
export function netCaptures(entries: readonly CaptureEntry[]): readonly CapturedAmount[] {
  return entries
    .filter(({ amount }) => amount > 0n)
    .map(({ id, amount, gross }) => {
      const back = entries.reduce((sum, entry) => (entry.takesBack === id ? sum - entry.amount : sum), 0n)
      return { amount: amount - back, gross: gross - divideHalfEven(gross * back, amount) }
    })
    .filter(({ amount }) => amount > 0n)
}
