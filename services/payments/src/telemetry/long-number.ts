/** Digits in one run, or in groups of four to six; and ids of this service whole, so that no run of digits within one is taken out. */
export const LONG_NUMBERS = /\b[0-9a-f]{24,}\b|\d{12,}|\b\d{4,6}(?:[ -]\d{4,6}){2,4}(?:[ -]\d{1,3})?\b/gi

/** No card number is shorter. */
const NUMBER_LENGTH = 12
const ID_LENGTH = 24

const DIGIT = 1
const HEX_LETTER = 2
const OTHER_OF_WORD = 4
const SEPARATOR = 8

/** What each character is, by its code; 0 for all others. */
const kinds = new Uint8Array(65_536)
for (const code of Buffer.from('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_')) kinds[code] = OTHER_OF_WORD
for (const code of Buffer.from('abcdefABCDEF')) kinds[code] = HEX_LETTER
for (const code of Buffer.from('0123456789')) kinds[code] = DIGIT
for (const code of Buffer.from(' -')) kinds[code] = SEPARATOR

/**
 * Whether there may be a long number: whether twelve digits, blanks or hyphens in a row stand anywhere but in an id of this
 * service, which is 24 hexadecimal digits and often has as many decimal ones in a row. It looks at one character in twelve:
 * every log line is looked at, and regular expressions take many times as long.
 */
export function hasLongNumber(text: string): boolean {
  for (let at = NUMBER_LENGTH - 1; at < text.length; at += NUMBER_LENGTH) {
    if (!isOf(DIGIT | SEPARATOR, text, at)) continue
    const start = startOf(DIGIT | SEPARATOR, text, at)
    const end = endOf(DIGIT | SEPARATOR, text, at)
    if (end - start < NUMBER_LENGTH) continue
    const endOfId = isOf(DIGIT, text, at) ? findEndOfId(text, at) : undefined
    if (endOfId === undefined) return true
    at = endOfId - 1
  }
  return false
}

/** Undefined where no id is around this place. */
function findEndOfId(text: string, at: number): number | undefined {
  const start = startOf(DIGIT | HEX_LETTER, text, at)
  const end = endOf(DIGIT | HEX_LETTER, text, at)
  const isAlone = !isOf(OTHER_OF_WORD, text, start - 1) && !isOf(OTHER_OF_WORD, text, end)
  return isAlone && end - start === ID_LENGTH ? end : undefined
}

/** Where the characters of a kind around a place begin; no further away than an id is long. */
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
