/** Whether the last of some digits is the check digit of the others (Luhn). @see ISO/IEC 7812-1, annex B */
export function hasCheckDigit(digits: string): boolean {
  return checkDigitsIn(digits)(0, digits.length)
}

/**
 * Tells of any run within some digits whether the last of it is the check digit of the others. It takes the same time for
 * each: sums up to every place are kept, with the digits at even or at odd places doubled.
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
