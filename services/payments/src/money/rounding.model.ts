/**
 * The integer nearest to n/d, and of two equally near the even one: the only rounding of money. `n` is not negative, `d` is
 * positive; signs are applied afterwards. The model of the SQL function `round_half_even` (reference: Rounding).
 */
export function divideHalfEven(n: bigint, d: bigint): bigint {
  const [quotient, remainder] = [n / d, n % d]
  if (2n * remainder === d) return quotient + (quotient % 2n)
  return 2n * remainder > d ? quotient + 1n : quotient
}
