import { isPayableIban, normaliseIban } from '../merchants/iban.ts'
import { checkDigitsIn, schemeOf, valueOfDigit } from './card-number.ts'

const DIGITS_MIN = 13
const DIGITS_MAX = 19
/** Shorter numbers without groups are mostly article numbers: one EAN-13 of ten has a card's check digit. */
const DIGITS_MIN_IN_ONE = 16
/** The minimum and maximum length of the numbers of a scheme, for schemes whose ranges do not state lengths. */
const LENGTHS: Readonly<Record<string, readonly [number, number]>> = {
  amex: [15, 15],
  diners: [14, 19],
  discover: [16, 19],
  jcb: [16, 19],
  unionpay: [16, 19],
}

/** Kinds of characters except digits. Numbers are written with blanks, hyphens and invisible characters. */
const [OTHER, HYPHEN, BLANK] = [-1, -2, -3]
/** The lengths of the groups of digits on cards. The first entries are numbers without groups. */
const USUAL: readonly (readonly number[])[] = [
  ...[14, 15, 16, 17, 18, 19].map((length) => [length]),
  [4, 3, 3, 3],
  [4, 4, 4, 1],
  [4, 4, 5],
  [4, 4, 4, 4],
  [4, 4, 4, 4, 3],
  [4, 6, 4],
  [4, 6, 5],
]

/**
 * Returns whether a text contains a card number in clear (reference: Card numbers in texts). The text is also checked as a URL,
 * in which blanks may be `+` or percent-encoded. IBANs are ignored.
 */
export function hasCardNumber(text: string): boolean {
  if (text.length < DIGITS_MIN) return false
  const isFound = hasRun(text) || (/%[23]|\+/.test(text) && hasRun(unescaped(text)))
  return isFound && (!PRINTED_IBAN.test(text) || hasRun(unescaped(withoutIbans(text))))
}

/** An IBAN in groups of four. An IBAN without blanks needs no rule, because letters adjoin its digits. */
const PRINTED_IBAN = /(?<![\p{L}\p{N}])[A-Z]{2}\d{2}(?: [A-Z\d]{4}){2,7}(?: [A-Z\d]{1,3})?(?![\p{L}\p{N}])/iu

function withoutIbans(text: string): string {
  const printed = new RegExp(PRINTED_IBAN, 'giu')
  return text.replaceAll(printed, (iban) => (isPayableIban(normaliseIban(iban)) ? ';' : iban))
}

/** Applies `hasCardNumber` to each string, number and field name of a JSON value, at any depth. */
export function hasCardNumberDeep(value: unknown): boolean {
  if (typeof value === 'string') return hasCardNumber(value)
  if (typeof value === 'number') return Number.isInteger(value) && hasCardNumber(String(value))
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(([key, member]) => hasCardNumber(key) || hasCardNumberDeep(member))
}

/** Decodes the percent-encoded digits, blanks and hyphens of a URL. */
function unescaped(url: string): string {
  return url
    .replaceAll('+', ' ')
    .replaceAll(/%(3\d|20|2d)/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
}

/** A sequence of digits. Between the digits are only blanks, hyphens and invisible characters. */
interface Run {
  readonly digits: number[]
  /** The indexes in `digits` at which groups begin. */
  readonly groups: number[]
  /** Whether a blank precedes each group. This is always `true` for the first group. */
  readonly blanks: boolean[]
  /** The indexes in the text at which the run begins and ends. */
  start: number
  end: number
}

/** Reads each character only once and creates no string for a group, because strangers may send large bodies. */
function hasRun(text: string): boolean {
  const kindOf = characterKinds()
  const run: Run = { digits: [], groups: [], blanks: [], start: 0, end: 0 }
  let gap: number | undefined
  for (let at = 0; at < text.length; ) {
    const code = text.codePointAt(at) ?? 0
    const next = at + (code > 0xffff ? 2 : 1)
    const kind = kindOf(code)
    if (kind >= 0) {
      addDigit(run, kind, { gap, at, next })
      gap = undefined
    } else if (kind !== OTHER) {
      gap = gap === BLANK ? BLANK : kind
    } else {
      if (hasNumber(text, run)) return true
      run.digits.length = 0
    }
    at = next
  }
  return hasNumber(text, run)
}

function addDigit(
  run: Run,
  digit: number,
  { gap, at, next }: { readonly gap: number | undefined; readonly at: number; readonly next: number },
): void {
  const place = run.digits.push(digit) - 1
  run.end = next
  if (place === 0) {
    run.start = at
    run.groups.length = 0
    run.blanks.length = 0
  } else if (gap === undefined) {
    return
  }
  run.groups.push(place)
  run.blanks.push(place === 0 || gap === BLANK)
}

/** Classifies a code point: the value of its digit, `BLANK`, `HYPHEN` or `OTHER`. Results are cached. */
function characterKinds(): (code: number) => number {
  const kinds = new Map<number, number>()
  return (code) => {
    if (code >= 0x30 && code <= 0x39) return code - 0x30
    if (code === 0x20) return BLANK
    if (code > 0x2d && code < 0x80) return OTHER
    const known = kinds.get(code)
    if (known !== undefined) return known
    const kind = findKind(code)
    kinds.set(code, kind)
    return kind
  }
}

function findKind(code: number): number {
  const character = String.fromCodePoint(code)
  if (/\p{Nd}/u.test(character)) return valueOfDigit(code)
  if (/[\s\p{Cc}]/u.test(character)) return BLANK
  if (/[\p{Pd}\p{M}\p{Cf}\p{Cn}\p{Co}\u2212]/u.test(character)) return HYPHEN
  // Superscript and circled digits are printed as plain digits on a bank statement.
  const plain = character.normalize('NFKC')
  return /^\d$/.test(plain) ? Number(plain) : OTHER
}

function hasNumber(text: string, { digits, groups, blanks, start, end }: Run): boolean {
  if (digits.length < DIGITS_MIN) return false
  const isCard = cardsIn(digits.join(''))
  const isGluedBefore = () => /(?:[\p{L}\p{N}]|\p{Nd}\.)$/u.test(text.slice(Math.max(0, start - 3), start))
  const isGluedAfter = () => /^(?:[\p{L}\p{N}]|\.\p{Nd})/u.test(text.slice(end, end + 3))
  const standsAlone = (from: number, to: number) =>
    !((from === 0 && isGluedBefore()) || (to === digits.length && isGluedAfter()))
  if (isCard(0, digits.length, DIGITS_MIN_IN_ONE) && standsAlone(0, digits.length)) return true
  const placeOf = (group: number) => groups[group] ?? digits.length
  return groups.some((from, group) => {
    if (!blanks[group]) return false
    return USUAL.some((lengths) => {
      if (!(blanks[group + lengths.length] ?? group + lengths.length === groups.length)) return false
      if (!lengths.every((length, at) => placeOf(group + at + 1) - placeOf(group + at) === length)) return false
      const to = placeOf(group + lengths.length)
      return isCard(from, to, lengths.length > 1 ? DIGITS_MIN : DIGITS_MIN_IN_ONE) && standsAlone(from, to)
    })
  })
}

/**
 * Returns a function that says whether the digits in a range are a card number. `digitsMin` is the minimum length for schemes
 * that are not in `LENGTHS`.
 */
function cardsIn(digits: string): (from: number, to: number, digitsMin: number) => boolean {
  const hasCheckDigit = checkDigitsIn(digits)
  return (from, to, digitsMin) => {
    const length = to - from
    if (length < DIGITS_MIN || length > DIGITS_MAX || !hasCheckDigit(from, to)) return false
    const scheme = schemeOf(digits.slice(from, to), { test: false })
    if (scheme.verdict === 'unknown') return false
    const [min, max] = LENGTHS[scheme.scheme] ?? [digitsMin, DIGITS_MAX]
    return length >= min && length <= max
  }
}
