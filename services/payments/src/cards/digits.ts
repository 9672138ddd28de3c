/** The text with the decimal digits of every script as ASCII digits. */
export function asciiDigits(text: string): string {
  return text.replaceAll(/\p{Nd}/gu, valueOfDigit)
}

/** The decimal digits of a text, in ASCII, without what stands between them. */
export function digitsIn(text: string): string {
  return asciiDigits(text).replaceAll(/[^0-9]/g, '')
}

/** Unicode has the digits of a script in a block of ten that begins with zero, and some blocks stand side by side. */
function valueOfDigit(digit: string): string {
  const code = digit.codePointAt(0) ?? 0
  let zero = code
  while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero -= 1
  return String((code - zero) % 10)
}
