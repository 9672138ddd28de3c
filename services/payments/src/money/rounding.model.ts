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
