import { CENSOR } from '@trestle/common/telemetry/redaction.ts'
import { checkDigitsIn, schemeOf } from './card-number.ts'

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

/**
 * Masks card numbers, values after the name of their field, bank accounts and email addresses, in any text that leaves
 * for a log or a trace, and in texts of others that are kept (reference: Security). Lines stay valid JSON.
 */
export function scrub(text: string): string {
  let clean = text
  for (const { mayMatch, pattern, mask } of rules) {
    if (mayMatch(clean)) clean = clean.replace(pattern, mask)
  }
  return clean
}

/**
 * No text that is masked is longer. The longest is a card number of 19 digits that are percent-encoded many times, with
 * six such separators between two of them: 1,397 characters.
 */
const MASKED_CHARS_MAX = 1_536

/**
 * The first `length` characters of a masked text, for texts of others, which may have any length: masking takes seconds, or
 * throws, for millions of characters. So only a part is read. A card number that is cut there has no mask, because it is no
 * card number any more, so the end of that part is never shown. Where masks have shortened the text, less may be shown.
 */
export function scrubStart(text: string, length: number): string {
  const read = 2 * length + MASKED_CHARS_MAX
  const masked = scrub(text.slice(0, read))
  return (text.length > read ? masked.slice(0, -MASKED_CHARS_MAX) : masked).slice(0, length)
}

interface Rule {
  /** A cheap test that runs before the pattern, because most lines contain nothing to mask. */
  readonly mayMatch: (text: string) => boolean
  readonly pattern: RegExp
  readonly mask: (match: string, ...rest: readonly (string | number)[]) => string
}

const rules: readonly Rule[] = [
  {
    mayMatch: (text) => /pcn/i.test(text),
    pattern: /(pcn\D{0,16})\d[\d -]*/gi,
    mask: (_match, word) => `${word}${CENSOR}`,
  },
  {
    // As they are stored, or printed in groups of four.
    mayMatch: (text) => /[A-Z]{2}\d{2}(?:[A-Z0-9]{11}|(?: [A-Z0-9]{4}){2})/.test(text),
    pattern: /\b[A-Z]{2}\d{2}(?:[A-Z0-9]{11,30}|(?: [A-Z0-9]{4}){2,7}(?: [A-Z0-9]{1,4})?)\b/g,
    mask: (match) => `${CENSOR}${match.replaceAll(' ', '').slice(-4)}`,
  },
  {
    mayMatch: (text) => hasLongNumber(text) || text.includes('%') || text.includes('\\'),
    pattern: LONG_NUMBERS,
    mask: maskCards,
  },
  {
    mayMatch: (text) => text.includes('@'),
    pattern: /([\w.!#$%&'*+/=?^`{|}~-])[\w.!#$%&'*+/=?^`{|}~-]{0,63}@([\w-]+(?:\.[\w-]+)+)/g,
    mask: (_match, first, domain) => `${first}***@${domain}`,
  },
]

/** No card number is shorter, and none is longer. */
const DIGITS_MIN = 12
const DIGITS_MAX = 19
/** Digits in one run, or grouped as on cards. */
const USUAL = /^(?:\d+|\d{4,6}(?:[ -]\d{4,6}){2,4}(?:[ -]\d{1,3})?)$/
/** A usual number begins with so many digits in a row. */
const USUAL_GROUP_MIN = 4

/**
 * Replaces each digit of the cards in a long number by 9. So a number in JSON stays a number, and a run of nines never
 * has a correct check digit.
 */
function maskCards(match: string): string {
  const pieces = match.match(/%(?:25){0,4}[0-9a-f]{2}|\\u[0-9a-f]{4}|./gis) ?? []
  const places = pieces.flatMap((piece, at) => (digitOf(piece) === undefined ? [] : [at]))
  const digits = places.map((at) => digitOf(pieces[at] ?? '')).join('')
  // Only a place where a group of digits begins or ends can be the edge of a card number. Other places are not tried.
  const isEdge = (place: number) => (places[place - 1] ?? -2) + 1 !== places[place]
  const hasCheckDigit = checkDigitsIn(digits)
  // A stranger may send digits of which each run has a correct check digit: they repeat, or are zeros, and no number of
  // a scheme begins with 0.
  const ofScheme = new Map<string, boolean>()
  const isKnown = (number: string): boolean => {
    const known = ofScheme.get(number) ?? isOfScheme(number)
    ofScheme.set(number, known)
    return known
  }
  const beginsUsually = (from: number) =>
    places[from + USUAL_GROUP_MIN - 1] === (places[from] ?? 0) + USUAL_GROUP_MIN - 1
  const isUsual = (from: number, to: number) =>
    USUAL.test(pieces.slice(places[from], (places[to - 1] ?? 0) + 1).join(''))
  const isCard = (from: number, to: number) =>
    hasCheckDigit(from, to) &&
    ((digits[from] !== '0' && isKnown(digits.slice(from, to))) || (beginsUsually(from) && isUsual(from, to)))
  for (let from = 0; from + DIGITS_MIN <= places.length; from++) {
    if (!isEdge(from)) continue
    let to = Math.min(from + DIGITS_MAX, places.length)
    while (to >= from + DIGITS_MIN && !(isEdge(to) && isCard(from, to))) to -= 1
    if (to < from + DIGITS_MIN) continue
    for (const at of places.slice(from, to)) pieces[at] = `${pieces[at]?.slice(0, -1)}9`
    from = to - 1
  }
  return pieces.join('')
}

function digitOf(piece: string): string | undefined {
  const last = piece.at(-1) ?? ''
  return last >= '0' && last <= '9' && (piece.length === 1 || /^%(?:25)*3\d$/.test(piece)) ? last : undefined
}

/** Some times and addresses have a correct check digit by chance, but few begin like a card. */
function isOfScheme(digits: string): boolean {
  return digits.length > DIGITS_MIN && schemeOf(digits, { test: false }).verdict !== 'unknown'
}
