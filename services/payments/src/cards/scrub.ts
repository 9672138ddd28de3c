import { CENSOR } from '@trestle/common/telemetry/redaction.ts'
import { checkDigitsIn, schemeOf } from './card-number.ts'

/**
 * Ids of this service, of requests and of traces. The pattern matches the whole id, so that digits inside an id are not masked.
 */
const ID = String.raw`\b(?:[0-9a-f]{24,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b`
/** A digit, plain or percent-encoded any number of times. */
const DIGIT_TEXT = String.raw`(?:%(?:25){0,4}3[0-9]|\d)`
const ENCODED_LETTER = '(?:4[1-9a-f]|5[0-9a]|6[1-9a-f]|7[0-9a])'
/** Any character except letters and digits: plain, escaped as in JSON, or percent-encoded. */
const SEPARATOR_TEXT = String.raw`(?:\\[bfnrt]|\\u[0-9a-f]{4}|[^0-9A-Za-z%]|%(?:25){0,4}(?!3[0-9]|${ENCODED_LETTER})[0-9a-f]{2}|%(?![0-9a-f]{2}))`

/** At least twelve digits, with up to six separators after each digit, or an id. */
export const LONG_NUMBERS = new RegExp(`${ID}|${DIGIT_TEXT}(?:${SEPARATOR_TEXT}{0,6}(?!${ID})${DIGIT_TEXT}){11,}`, 'gi')

/** No card number is shorter than this. */
const NUMBER_LENGTH = 12
const ID_LENGTH = 24

const DIGIT = 1
const HEX_LETTER = 2
const OTHER_LETTER = 4
const UNDERSCORE = 8

const LETTER = HEX_LETTER | OTHER_LETTER
const OTHER_OF_WORD = OTHER_LETTER | UNDERSCORE

/** The kind of each UTF-16 code unit. 0 for all others. */
const kinds = new Uint8Array(65_536)
for (const code of Buffer.from('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ')) kinds[code] = OTHER_LETTER
for (const code of Buffer.from('abcdefABCDEF')) kinds[code] = HEX_LETTER
for (const code of Buffer.from('0123456789')) kinds[code] = DIGIT
for (const code of Buffer.from('_')) kinds[code] = UNDERSCORE

/**
 * Returns whether the text may contain a long number that is neither encoded nor escaped: twelve digits without a letter between
 * them, outside ids of this service. Such an id has 24 hexadecimal digits and often contains twelve decimal digits. The function
 * checks each log line, and regular expressions would take many times as long. Inside words it reads only one character in
 * twelve.
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

/** Returns whether a range of the text contains twelve digits in a row, outside ids. */
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

/** Returns the index after the id that contains the digit at `at`, or `undefined` if the digit is not part of an id. */
function findEndOfId(text: string, at: number): number | undefined {
  const start = startOf(DIGIT | HEX_LETTER, text, at)
  const end = endOf(DIGIT | HEX_LETTER, text, at)
  const isAlone = !isOf(OTHER_OF_WORD, text, start - 1) && !isOf(OTHER_OF_WORD, text, end)
  return isAlone && end - start === ID_LENGTH ? end : undefined
}

/** Returns the start of the sequence of characters of a kind around `at`. Searches back at most the length of an id. */
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
 * Masks card numbers, card numbers after their field name, bank accounts and email addresses. Use it for all text in logs and
 * traces, and for stored text from third parties (reference: Security). JSON lines stay valid JSON.
 */
export function scrub(text: string): string {
  let clean = text
  for (const { mayMatch, pattern, mask } of rules) {
    if (mayMatch(clean)) clean = clean.replace(pattern, mask)
  }
  return clean
}

/**
 * The maximum length of a text that is masked. The longest is a card number of 19 digits that are percent-encoded many times,
 * with six encoded separators between two digits: 1,397 characters.
 */
const MASKED_CHARS_MAX = 1_536

/**
 * The first `length` characters of a masked text of any length. Masking millions of characters takes seconds or throws, so only a
 * part is read. If the part ends inside a card number, that number is not masked, so the end of the part is never shown. Masks
 * that shorten the text may shorten the result.
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
    // IBANs without blanks, or in groups of four.
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

/** The shortest and the longest card number. */
const DIGITS_MIN = 12
const DIGITS_MAX = 19
/** Digits without separators, or in groups as on cards. */
const USUAL = /^(?:\d+|\d{4,6}(?:[ -]\d{4,6}){2,4}(?:[ -]\d{1,3})?)$/
/** A number in the usual form begins with this many adjacent digits. */
const USUAL_GROUP_MIN = 4

/**
 * Replaces each digit of the card numbers in a long number by 9. A JSON number stays a number, and a run of nines never has a
 * valid check digit.
 */
function maskCards(match: string): string {
  const pieces = match.match(/%(?:25){0,4}[0-9a-f]{2}|\\u[0-9a-f]{4}|./gis) ?? []
  const places = pieces.flatMap((piece, at) => (digitOf(piece) === undefined ? [] : [at]))
  const digits = places.map((at) => digitOf(pieces[at] ?? '')).join('')
  // A card number can begin and end only where a group of digits begins or ends. Other positions are not tried.
  const isEdge = (place: number) => (places[place - 1] ?? -2) + 1 !== places[place]
  const hasCheckDigit = checkDigitsIn(digits)
  // An attacker may send digits of which every range has a valid check digit, such as repeated digits or zeros. The cache of
  // schemes and the check for a leading 0 keep such texts fast. No number of a scheme begins with 0.
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

/** Some timestamps and addresses have a valid check digit by chance, but few begin like a card number. */
function isOfScheme(digits: string): boolean {
  return digits.length > DIGITS_MIN && schemeOf(digits, { test: false }).verdict !== 'unknown'
}
