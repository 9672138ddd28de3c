import { parsePhoneNumberFromString } from 'libphonenumber-js/min'
import { normalisePhone } from './identifier.ts'
import { readDigits } from './typed-code.ts'

/** The library whose data say how the numbers of each country are written, and the day of its release. */
export const PHONE_DATA = { name: 'libphonenumber-js 1.13.16', asOf: '2026-11-10' } as const

/** A phone number as somebody has typed it. */
export interface TypedPhone {
  /** All digits that were typed. */
  readonly digits: string
  /** The digits that are dialled from another country. Undefined where no number of its country has this form. */
  readonly parsed: string | undefined
}

/** Blanks, characters without a shape, dashes, brackets, dots and slashes, which people write between the digits. */
const PUNCTUATION = /[\s\p{Z}\p{Cf}\p{Pd}\p{Ps}\p{Pe}./]/gu

/**
 * Reads a phone number as people write it (reference: Phone numbers): `+44 (0) 7418-084106` has the digits 4407418084106,
 * and is parsed to 447418084106. The digits may be those of any script. Undefined where the text is no number with the code
 * of a country.
 */
export function readTypedPhone(text: string): TypedPhone | undefined {
  const digits = normalisePhone(readDigits(text.replaceAll(PUNCTUATION, '').replace(/^＋/, '+')))
  return digits === undefined ? undefined : { digits, parsed: parseDigits(digits) }
}

/**
 * The library takes one prefix away, such as the 0 before a national number. A text may have several, and `+44 0 0259…` is the
 * number of `+44 0259…`: parse until nothing is taken away.
 */
function parseDigits(digits: string): string | undefined {
  const number = parsePhoneNumberFromString(`+${digits}`)
  if (!number?.isPossible()) return undefined
  const parsed = number.number.slice(1)
  return parsed.length < digits.length ? parseDigits(parsed) : parsed
}
