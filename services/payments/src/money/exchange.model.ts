import { type Decimal, printDecimal, readDecimal } from './minor-units.ts'

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
