/** Whether the last digit is the check digit of the digits before it (Luhn). @see ISO/IEC 7812-1, annex B */
export function hasCheckDigit(digits: string): boolean {
  return checkDigitsIn(digits)(0, digits.length)
}

/**
 * Returns a function that tells of any run of the digits whether its last digit is the check digit of the others. Each call
 * takes the same short time, because the sums up to every place are computed once, with the digits at even and at odd places
 * doubled.
 */
export function checkDigitsIn(digits: string): (from: number, to: number) => boolean {
  const sums = [new Uint32Array(digits.length + 1), new Uint32Array(digits.length + 1)] as const
  for (let place = 0; place < digits.length; place++) {
    const digit = Number(digits[place])
    const doubled = digit > 4 ? digit * 2 - 9 : digit * 2
    const isOdd = place % 2
    sums[0][place + 1] = (sums[0][place] ?? 0) + (isOdd ? digit : doubled)
    sums[1][place + 1] = (sums[1][place] ?? 0) + (isOdd ? doubled : digit)
  }
  return (from, to) => {
    const [ofEven, ofOdd] = sums
    const doubling = to % 2 === 0 ? ofEven : ofOdd
    return ((doubling[to] ?? 0) - (doubling[from] ?? 0)) % 10 === 0
  }
}
