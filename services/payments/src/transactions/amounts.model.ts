import { type Decimal, printDecimal, readDecimal } from '../money/minor-units.ts'
import type { OperationKind } from './transaction.ts'

/** A transaction's amounts in minor units. `lost` is the part of `disputed` that lost disputes have taken. */
export interface Amounts {
  readonly amount: bigint
  readonly pending: bigint
  readonly captured: bigint
  readonly refunded: bigint
  readonly voided: bigint
  readonly disputed: bigint
  readonly lost: bigint
}

/** The amounts after an operation, or the largest possible amount of the operation. All amounts are in minor units. */
type AmountsVerdict =
  | { readonly verdict: 'done'; readonly amounts: Amounts }
  | { readonly verdict: 'limit-exceeded'; readonly possible: bigint }

/** Returns the amounts of a transaction of which nothing is captured yet. @param amount in minor units */
export function authorized(amount: bigint): Amounts {
  return { amount, pending: amount, captured: 0n, refunded: 0n, voided: 0n, disputed: 0n, lost: 0n }
}

/** Returns the largest amount of an operation. Money in an open or lost dispute cannot be refunded. */
function possibleAmount(amounts: Amounts, kind: OperationKind): bigint {
  return kind === 'refund' ? amounts.captured - amounts.refunded - amounts.disputed : amounts.pending
}

/**
 * Captures, refunds or voids `amount`, a positive number of minor units. Captured money never becomes pending again. This is the
 * model of the rule in the SQL function `decide_operation` (reference: Movements).
 */
export function runOperation(amounts: Amounts, kind: OperationKind, amount: bigint): AmountsVerdict {
  const possible = possibleAmount(amounts, kind)
  if (amount > possible) return { verdict: 'limit-exceeded', possible }
  return { verdict: 'done', amounts: { ...amounts, ...CHANGES[kind](amounts, amount) } }
}

const CHANGES: Readonly<Record<OperationKind, (before: Amounts, amount: bigint) => Partial<Amounts>>> = {
  capture: ({ pending, captured }, amount) => ({ pending: pending - amount, captured: captured + amount }),
  refund: ({ refunded }, amount) => ({ refunded: refunded + amount }),
  void: ({ pending, voided }, amount) => ({ pending: pending - amount, voided: voided + amount }),
}

/** A captured amount in minor units of the transaction, and its worth (`gross`) in the merchant's currency. */
export interface CapturedAmount {
  readonly amount: bigint
  readonly gross: bigint
}

/**
 * Returns the worth of the first `amount` minor units of the captures, in the order of the captures. After reversals of X, a
 * reversal of x is worth `capturedValue(X + x) - capturedValue(X)`. So reversing everything returns exactly the worth of all
 * captures. This is the model of the SQL function `captured_value` (reference: Worth of a reversal).
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

/** A trail entry of a capture. A negative amount reverts a part of the rejected capture `takesBack`. */
interface CaptureEntry extends CapturedAmount {
  readonly id: string
  readonly takesBack: string | undefined
}

/**
 * Returns the captures that remain after rejections, in their order, in minor units of the transaction's and the merchant's
 * currency. If a part of a capture remains, it keeps its share of the capture's worth. Captures that are rejected in full are
 * omitted. This is the model of the SQL function `net_captures` (reference: Worth of a correction).
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

/** A currency of an exchange, with its decimals and its rate. */
interface Quote {
  /** The number of decimals of the minor unit. */
  readonly exponent: number
  /** The units of the currency per euro, as decimal text. */
  readonly rate: string
}

interface ExchangeRequest {
  /** In minor units of `from`, not negative. */
  readonly amount: bigint
  readonly from: Quote
  readonly to: Quote
  /** The margin that is deducted, in basis points: 0 to 10,000. */
  readonly marginBasisPoints: bigint
}

/** The number of decimals of a displayed rate. */
const SHOWN_DECIMALS = 10
const WHOLE_BASIS_POINTS = 10_000n

/**
 * Converts an amount to minor units of another currency, and rounds once. The returned `rate` is for display: units of `to` per
 * unit of `from`, after the margin. The currencies must differ. This is the model of the SQL function `exchange` (reference:
 * Conversion). @throws RangeError unless both rates consist of digits with at most one decimal point
 */
export function exchange({ amount, from, to, marginBasisPoints }: ExchangeRequest): { amount: bigint; rate: string } {
  const [sold, bought] = [readDecimal(from.rate), readDecimal(to.rate)]
  const factor = WHOLE_BASIS_POINTS - marginBasisPoints
  // The quotient bought/sold as a fraction of integers. Each rate is digits / 10^scale.
  const n = bought.digits * tenTo(sold.scale) * factor
  const d = sold.digits * tenTo(bought.scale) * WHOLE_BASIS_POINTS
  return {
    amount: divideHalfEven(amount * tenTo(to.exponent) * n, tenTo(from.exponent) * d),
    rate: printDecimal({ digits: divideHalfEven(n * tenTo(SHOWN_DECIMALS), d), scale: SHOWN_DECIMALS }),
  }
}

function tenTo(power: Decimal['scale']): bigint {
  return 10n ** BigInt(power)
}

/**
 * Returns the integer nearest to n/d. If two integers are equally near, returns the even one. All money is rounded in this way.
 * `n` must not be negative, and `d` must be positive. Callers apply the sign afterwards. This is the model of the SQL function
 * `round_half_even` (reference: Rounding).
 */
export function divideHalfEven(n: bigint, d: bigint): bigint {
  const [quotient, remainder] = [n / d, n % d]
  if (2n * remainder === d) return quotient + (quotient % 2n)
  return 2n * remainder > d ? quotient + 1n : quotient
}
