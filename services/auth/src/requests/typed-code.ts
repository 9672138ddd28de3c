const DIGIT = /\p{Nd}/gu
/** Blanks, and characters without a shape, such as marks of the direction of text. */
const UNSEEN = /[\s\p{Z}\p{Cf}]/gu

/**
 * A code of digits as the service has sent it: without the blanks that somebody has typed between the digits, and in the digits 0
 * to 9 where they have typed those of another script. Another text, such as the token of a link, stays as it is.
 */
export function readCode(typed: string): string {
  const bare = typed.replaceAll(UNSEEN, '')
  return /^\p{Nd}+$/u.test(bare) ? readDigits(bare) : typed
}

/** A text with the digits 0 to 9 in place of those of other scripts. */
export function readDigits(text: string): string {
  return text.replaceAll(DIGIT, toDigit)
}

/** The digits of each script follow each other from its zero on, and the sets of several scripts may adjoin. */
function toDigit(digit: string): string {
  const code = digit.codePointAt(0) ?? 0
  let zero = code
  while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero -= 1
  return String((code - zero) % 10)
}
