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

/** The text with the decimal digits of every script as ASCII digits. */
export function asciiDigits(text: string): string {
  return text.replaceAll(/\p{Nd}/gu, (digit) => String(valueOfDigit(digit.codePointAt(0) ?? 0)))
}

/** The decimal digits of a text, in ASCII, without what stands between them. */
export function digitsIn(text: string): string {
  return asciiDigits(text).replaceAll(/[^0-9]/g, '')
}

/**
 * The value of a decimal digit, by its code point. Unicode has the digits of a script in a block of ten that begins
 * with zero, and some blocks stand side by side.
 */
export function valueOfDigit(code: number): number {
  let zero = code
  while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero -= 1
  return (code - zero) % 10
}
