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
