/**
 * Ids of this service, of requests and of traces. They are matched as a whole, so that digits inside one are not
 * masked.
 */
const ID = String.raw`\b(?:[0-9a-f]{24,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b`
/** A digit, as it is or percent-encoded any number of times. */
const DIGIT_TEXT = String.raw`(?:%(?:25){0,4}3[0-9]|\d)`
const ENCODED_LETTER = '(?:4[1-9a-f]|5[0-9a]|6[1-9a-f]|7[0-9a])'
/** Anything but a letter or digit: as it is, as JSON escapes it, or percent-encoded. */
const SEPARATOR_TEXT = String.raw`(?:\\[bfnrt]|\\u[0-9a-f]{4}|[^0-9A-Za-z%]|%(?:25){0,4}(?!3[0-9]|${ENCODED_LETTER})[0-9a-f]{2}|%(?![0-9a-f]{2}))`

/** Twelve digits or more, with up to six separators after each; and ids. */
export const LONG_NUMBERS = new RegExp(`${ID}|${DIGIT_TEXT}(?:${SEPARATOR_TEXT}{0,6}(?!${ID})${DIGIT_TEXT}){11,}`, 'gi')

/** No card number is shorter. */
const NUMBER_LENGTH = 12
const ID_LENGTH = 24

const DIGIT = 1
const HEX_LETTER = 2
const OTHER_LETTER = 4
const UNDERSCORE = 8

const LETTER = HEX_LETTER | OTHER_LETTER
const OTHER_OF_WORD = OTHER_LETTER | UNDERSCORE

/** The kind of each character by its code. 0 for all others. */
const kinds = new Uint8Array(65_536)
for (const code of Buffer.from('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ')) kinds[code] = OTHER_LETTER
for (const code of Buffer.from('abcdefABCDEF')) kinds[code] = HEX_LETTER
for (const code of Buffer.from('0123456789')) kinds[code] = DIGIT
for (const code of Buffer.from('_')) kinds[code] = UNDERSCORE

/**
 * Whether the text may contain a long number that is neither encoded nor escaped: twelve digits without a letter
 * between them, outside ids of this service, which are 24 hexadecimal digits and often contain as many decimal ones.
 * Inside words it looks at one character in twelve, because it looks at each log line and regular expressions take many
 * times as long.
 */
export function hasLongNumber(text: string): boolean {
  let at = NUMBER_LENGTH - 1
  let seen = 0
  while (at < text.length) {
    if (isOf(LETTER, text, at)) {
      at += NUMBER_LENGTH
      continue
    }
    let start = at
    while (start > seen && !isOf(LETTER, text, start - 1)) start -= 1
    let end = at + 1
    while (end < text.length && !isOf(LETTER, text, end)) end += 1
    if (end - start >= NUMBER_LENGTH && hasManyDigits(text, start, end)) return true
    seen = end
    at = end + NUMBER_LENGTH
  }
  return false
}

/** Whether there are twelve digits between two places, outside ids. */
function hasManyDigits(text: string, start: number, end: number): boolean {
  let all = 0
  for (let at = start; at < end; at++) if (isOf(DIGIT, text, at)) all += 1
  if (all < NUMBER_LENGTH) return false
  let digits = 0
  for (let at = start; at < end; at++) {
    if (!isOf(DIGIT, text, at)) continue
    const endOfId = at === start || !isOf(DIGIT, text, at - 1) ? findEndOfId(text, at) : undefined
    digits = endOfId === undefined ? digits + 1 : 0
    if (digits === NUMBER_LENGTH) return true
    if (endOfId !== undefined) at = endOfId - 1
  }
  return false
}

/** The index behind the id that a digit at `at` is part of. Undefined where the digit is part of none. */
function findEndOfId(text: string, at: number): number | undefined {
  const start = startOf(DIGIT | HEX_LETTER, text, at)
  const end = endOf(DIGIT | HEX_LETTER, text, at)
  const isAlone = !isOf(OTHER_OF_WORD, text, start - 1) && !isOf(OTHER_OF_WORD, text, end)
  return isAlone && end - start === ID_LENGTH ? end : undefined
}

/** Returns the place where the characters of a kind around a place begin, at most the length of an id away. */
function startOf(kind: number, text: string, at: number): number {
  let start = at
  while (at - start < ID_LENGTH && isOf(kind, text, start - 1)) start -= 1
  return start
}

function endOf(kind: number, text: string, at: number): number {
  let end = at + 1
  while (end - at <= ID_LENGTH && isOf(kind, text, end)) end += 1
  return end
}

function isOf(kind: number, text: string, at: number): boolean {
  return at >= 0 && at < text.length && ((kinds[text.charCodeAt(at)] ?? 0) & kind) !== 0
}
