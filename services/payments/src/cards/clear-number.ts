import { schemeOf } from './card-number.ts'
import { hasCheckDigit } from './check-digit.ts'
import { digitsIn } from './digits.ts'

const DIGITS_MIN = 13
const DIGITS_MAX = 19
/** The lengths of the numbers of a scheme, where the range does not say them. */
const LENGTHS: Readonly<Record<string, readonly [number, number]>> = {
  amex: [15, 15],
  diners: [14, 19],
  discover: [16, 19],
  jcb: [16, 19],
  unionpay: [16, 19],
}

/** Blanks, hyphens and characters without width: people and programs write them into a card number. */
const SEPARATOR = String.raw`[\s\p{Pd}\p{Cf}\u2212]`
const RUN = new RegExp(String.raw`\p{Nd}(?:${SEPARATOR}*\p{Nd}){${DIGITS_MIN - 1},}`, 'gu')
const SEPARATORS = new RegExp(`(${SEPARATOR}+)`, 'u')
/** The groups of digits on cards, by their lengths: 4 4 4 4, 4 4 4 4 3 and 4 4 4 1, 4 6 5, 4 6 4, or all in one. */
const USUAL = /^(?:1[3-9]|4 4 4 (?:1|4|4 3)|4 6 [45])$/

/**
 * Whether a text has a card number in clear: a run of 13 to 19 digits that stands alone, blanks and hyphens left out, with a
 * right check digit and the length and first digits of a scheme (reference: Text). Digits beside a letter, a further digit or
 * decimals do not stand alone, nor does a part of a longer run, unless it is written as on a card and has blanks around it. The
 * escapes of URLs are read.
 */
export function hasCardNumber(text: string): boolean {
  if (text.length < DIGITS_MIN) return false
  return hasRun(text) || (/%[23]|^https?:/i.test(text) && hasRun(unescaped(text)))
}

/** The same of each text, number and name of a member in a JSON value, at any depth. */
export function hasCardNumberDeep(value: unknown): boolean {
  if (typeof value === 'string') return hasCardNumber(value)
  if (typeof value === 'number') return Number.isInteger(value) && hasCardNumber(String(value))
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(([key, member]) => hasCardNumber(key) || hasCardNumberDeep(member))
}

/** Digits, blanks and hyphens of a URL without their escapes. */
function unescaped(url: string): string {
  return url
    .replaceAll('+', ' ')
    .replaceAll(/%(3\d|20|2d)/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
}

function hasRun(text: string): boolean {
  for (const { 0: run, index } of text.matchAll(RUN)) {
    const isGluedBefore = /(?:[\p{L}\p{N}]|\p{Nd}\.)$/u.test(text.slice(Math.max(0, index - 3), index))
    const isGluedAfter = /^(?:[\p{L}\p{N}]|\.\p{Nd})/u.test(text.slice(index + run.length, index + run.length + 3))
    if (hasNumber(run.split(SEPARATORS), { isGluedBefore, isGluedAfter })) return true
  }
  return false
}

/** @param pieces groups of digits, with separators between them */
function hasNumber(
  pieces: readonly string[],
  { isGluedBefore, isGluedAfter }: { readonly isGluedBefore: boolean; readonly isGluedAfter: boolean },
): boolean {
  const groups = pieces.filter((_, at) => at % 2 === 0).map(digitsIn)
  if (!isGluedBefore && !isGluedAfter && isCard(groups.join(''))) return true
  /** Whether a part of the run may begin or end before a group. */
  const isEdge = (group: number) => /\s/.test(pieces[group * 2 - 1] ?? ' ')
  const last = isGluedAfter ? groups.length - 1 : groups.length
  for (let from = isGluedBefore ? 1 : 0; from < last; from++) {
    if (!isEdge(from)) continue
    for (let to = from + 1; to <= Math.min(last, from + 5); to++) {
      const part = groups.slice(from, to)
      if (isEdge(to) && USUAL.test(part.map(({ length }) => length).join(' ')) && isCard(part.join(''))) return true
    }
  }
  return false
}

function isCard(number: string): boolean {
  if (number.length < DIGITS_MIN || number.length > DIGITS_MAX || !hasCheckDigit(number)) return false
  const scheme = schemeOf(number, { test: false })
  if (scheme.verdict === 'unknown') return false
  const [min, max] = LENGTHS[scheme.scheme] ?? [DIGITS_MIN, DIGITS_MAX]
  return number.length >= min && number.length <= max
}
