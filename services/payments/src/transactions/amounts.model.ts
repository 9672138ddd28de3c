import { type Decimal, printDecimal, readDecimal } from '../money/minor-units.ts'
import type { OperationKind } from './transaction.ts'

/** The state of a transaction, in minor units of its currency. `lost` is the part of `disputed` that lost disputes have taken. */
export interface Amounts {
  readonly amount: bigint
  readonly pending: bigint
  readonly captured: bigint
  readonly refunded: bigint
  readonly voided: bigint
  readonly disputed: bigint
  readonly lost: bigint
}

/** The amounts after an operation, or the largest amount that is possible. All are minor units. */
type AmountsVerdict =
  | { readonly verdict: 'done'; readonly amounts: Amounts }
  | { readonly verdict: 'limit-exceeded'; readonly possible: bigint }

/** A transaction of which nothing is captured yet. @param amount in minor units */
export function authorized(amount: bigint): Amounts {
  return { amount, pending: amount, captured: 0n, refunded: 0n, voided: 0n, disputed: 0n, lost: 0n }
}

/** The largest amount that an operation can have. Money in an open or lost dispute cannot be refunded. */
function possibleAmount(amounts: Amounts, kind: OperationKind): bigint {
  return kind === 'refund' ? amounts.captured - amounts.refunded - amounts.disputed : amounts.pending
}

/**
 * Captures, refunds or voids `amount`, a positive number of minor units. Captured money never becomes pending again.
 * The model of the rule in the SQL function `decide_operation` (reference: Movements).
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
interface CaptureEntry extends CapturedAmount {
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

/** The currency of one side of an exchange, by its decimals and its rate. */
interface Quote {
  /** Decimals of the minor unit. */
  readonly exponent: number
  /** Units for one euro, as decimal text. */
  readonly rate: string
}

interface ExchangeRequest {
  /** Minor units of `from`, not negative. */
  readonly amount: bigint
  readonly from: Quote
  readonly to: Quote
  /** The share that is kept, in hundredths of a percent: 0 to 10,000. */
  readonly marginBasisPoints: bigint
}

/** Decimals of a rate as it is shown. */
const SHOWN_DECIMALS = 10
const WHOLE_BASIS_POINTS = 10_000n

/**
 * An amount in minor units of the other currency, rounded once. `rate` is for showing: units for one, after the margin. The
 * currencies must differ. The model of the SQL function `exchange` (reference: Conversion).
 * @throws RangeError unless both rates are digits with at most one point between them
 */
export function exchange({ amount, from, to, marginBasisPoints }: ExchangeRequest): { amount: bigint; rate: string } {
  const [sold, bought] = [readDecimal(from.rate), readDecimal(to.rate)]
  const factor = WHOLE_BASIS_POINTS - marginBasisPoints
  // bought/sold as a fraction of integers: each rate is digits / 10^scale.
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
 * The integer nearest to n/d; of two equally near integers, the even one. All rounding of money is done so. `n` is not
 * negative, `d` is positive; callers apply signs afterwards. The model of the SQL function `round_half_even` (reference:
 * Rounding).
 */
export function divideHalfEven(n: bigint, d: bigint): bigint {
  const [quotient, remainder] = [n / d, n % d]
  if (2n * remainder === d) return quotient + (quotient % 2n)
  return 2n * remainder > d ? quotient + 1n : quotient
}
