/** A scheme whose card numbers are accepted. */
type Scheme = 'visa' | 'mastercard'

export type SchemeVerdict =
  | { readonly verdict: 'supported'; readonly scheme: Scheme }
  | { readonly verdict: 'unsupported'; readonly scheme: string }
  | { readonly verdict: 'unknown' }

/** The card numbers whose first digits are between `from` and `to`, inclusive. `from` and `to` have the same length. */
interface NumberRange {
  readonly scheme: string
  readonly from: string
  readonly to: string
  /** The lengths of the number. If absent, any length is allowed. */
  readonly lengths?: readonly number[]
}

const VISA: NumberRange = { scheme: 'visa', from: '4', to: '4', lengths: [13, 16, 19] }
const MASTERCARD: readonly NumberRange[] = [
  { scheme: 'mastercard', from: '51', to: '55', lengths: [16] },
  { scheme: 'mastercard', from: '222100', to: '272099', lengths: [16] },
]
/** The first range that contains a number applies. Later ranges are wider. */
const LIVE_RANGES: readonly NumberRange[] = [
  VISA,
  ...MASTERCARD,
  { scheme: 'amex', from: '34', to: '34' },
  { scheme: 'amex', from: '37', to: '37' },
  { scheme: 'diners', from: '30', to: '30' },
  { scheme: 'diners', from: '36', to: '36' },
  { scheme: 'diners', from: '38', to: '38' },
  { scheme: 'discover', from: '6011', to: '6011' },
  { scheme: 'discover', from: '65', to: '65' },
  { scheme: 'jcb', from: '3528', to: '3589' },
  { scheme: 'unionpay', from: '62', to: '62' },
  { scheme: 'maestro', from: '50', to: '50' },
  { scheme: 'maestro', from: '56', to: '58' },
  { scheme: 'maestro', from: '6', to: '6' },
]
/** The numbers of the simulator begin with 1 and 2. No real card number begins with these digits. */
const TEST_RANGES: readonly NumberRange[] = [
  { scheme: 'visa', from: '1', to: '1' },
  VISA,
  { scheme: 'mastercard', from: '2', to: '2' },
  ...MASTERCARD,
]

/** Returns the scheme of a card number (digits only), by the ranges of live or test merchants (reference: Schemes). */
export function schemeOf(number: string, { test }: { readonly test: boolean }): SchemeVerdict {
  const range = (test ? TEST_RANGES : LIVE_RANGES).find((candidate) => contains(candidate, number))
  if (range === undefined) return { verdict: 'unknown' }
  const { scheme } = range
  return isSupported(scheme) ? { verdict: 'supported', scheme } : { verdict: 'unsupported', scheme }
}

/** Returns the digits of a card number that may be shown: the first six (`bin`) and the last four. */
export function visibleDigits(number: string): { readonly bin: string; readonly last4: string } {
  return { bin: number.slice(0, 6), last4: number.slice(-4) }
}

function isSupported(scheme: string): scheme is Scheme {
  return scheme === 'visa' || scheme === 'mastercard'
}

/** Compares digits as strings. Strings of equal length sort like their numbers. */
function contains({ from, to, lengths }: NumberRange, number: string): boolean {
  const head = number.slice(0, from.length)
  return head.length === from.length && from <= head && head <= to && (lengths?.includes(number.length) ?? true)
}

/** Returns whether the last digit is the check digit of the digits before it (Luhn). @see ISO/IEC 7812-1, annex B */
export function hasCheckDigit(digits: string): boolean {
  return checkDigitsIn(digits)(0, digits.length)
}

/**
 * Returns a function that checks any range of the digits: whether the last digit of the range is the check digit of the digits
 * before it. Each call takes constant time, because two prefix sums are computed once. One sum doubles the digits at even
 * positions and the other sum doubles the digits at odd positions.
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

/** Replaces the decimal digits of every script by ASCII digits. */
export function asciiDigits(text: string): string {
  return text.replaceAll(/\p{Nd}/gu, (digit) => String(valueOfDigit(digit.codePointAt(0) ?? 0)))
}

/** Returns the decimal digits of a text as ASCII digits, without the characters between them. */
export function digitsIn(text: string): string {
  return asciiDigits(text).replaceAll(/[^0-9]/g, '')
}

/**
 * Returns the value of a decimal digit, by its code point. In Unicode, the digits of a script form a block of ten that begins
 * with zero. Some blocks are adjacent, so the distance to the first digit is taken modulo 10.
 */
export function valueOfDigit(code: number): number {
  let zero = code
  while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero -= 1
  return (code - zero) % 10
}
