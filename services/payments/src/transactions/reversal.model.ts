import { divideHalfEven } from '../money/rounding.model.ts'

/** A capture: minor units of the transaction, and their worth in the merchant's currency. */
export interface CapturedAmount {
  readonly amount: bigint
  readonly gross: bigint
}

/**
 * The worth of the first `amount` minor units of the captures, in the order of the captures. A reversal of x after X is worth
 * the value of X + x less the value of X, so reversing everything returns exactly the worth of all captures. The model of the
 * SQL function `captured_value` (reference: Worth of a reversal).
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

/** A trail entry of a capture. With an amount below 0 it takes back the capture `takesBack`, which the acquirer has rejected. */
export interface CaptureEntry extends CapturedAmount {
  readonly id: string
  readonly takesBack: string | undefined
}

/**
 * The captures after rejections, in their order, in minor units of the transaction and of the merchant's
 * currency. A part keeps its share of the capture's worth, and a capture of which nothing is left is missing.
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
