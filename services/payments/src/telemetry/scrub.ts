import { CENSOR } from '@trestle/common/telemetry/redaction.ts'
import { hasCheckDigit } from '../cards/check-digit.ts'
import { hasLongNumber, LONG_NUMBERS } from './long-number.ts'

/**
 * The last look at what leaves for a log or a trace: masks card numbers, what follows the word of their field, bank accounts
 * and e-mail addresses, wherever they stand. Lines stay JSON. @see contract 24, "Logs"
 */
export function scrub(text: string): string {
  let clean = text
  for (const { worthLooking, pattern, mask } of rules) {
    if (worthLooking(clean)) clean = clean.replace(pattern, mask)
  }
  return clean
}

interface Rule {
  /** A cheap look: most lines hold nothing of the kind. */
  readonly worthLooking: (text: string) => boolean
  readonly pattern: RegExp
  readonly mask: (match: string, ...rest: readonly (string | number)[]) => string
}

/** A digit or what separates digits, as a path or a query carries them: encoded once or more often, or as they are. */
const PIECE = `%(?:25)*(?:3[0-9]|2[0-9a-f]|09|0a|0d|a0|c2%a0|5f)|[0-9 +._-]`
const ENCODED_RUN = new RegExp(`(?:${PIECE}){12,}`, 'gi')
const HAS_ENCODED = /%(?:25)*(?:3\d|2[0-9a-f]|09|0[ad]|[ac][02]|5f)/i

const rules: readonly Rule[] = [
  {
    worthLooking: (text) => /pcn/i.test(text),
    pattern: /(pcn\D{0,16})\d[\d -]*/gi,
    mask: (_match, word) => `${word}${CENSOR}`,
  },
  {
    worthLooking: (text) => /[A-Z]{2}\d{2}[A-Z0-9]{11}/.test(text),
    pattern: /\b[A-Z]{2}\d{2}[A-Z0-9]{7,26}([A-Z0-9]{4})\b/g,
    mask: (_match, last4) => `${CENSOR}${last4}`,
  },
  {
    worthLooking: hasLongNumber,
    pattern: LONG_NUMBERS,
    mask: (match) => (isCardNumber(match) ? maskDigits(match) : match),
  },
  {
    worthLooking: (text) => HAS_ENCODED.test(text),
    pattern: ENCODED_RUN,
    mask: (match) => (hasEncodedCard(match) ? CENSOR : match),
  },
  {
    worthLooking: (text) => text.includes('@'),
    pattern: /([\w.!#$%&'*+/=?^`{|}~-])[\w.!#$%&'*+/=?^`{|}~-]{0,63}@([\w-]+(?:\.[\w-]+)+)/g,
    mask: (_match, first, domain) => `${first}***@${domain}`,
  },
]

/** No card number is shorter, and none is longer. */
const DIGITS_MIN = 12
const DIGITS_MAX = 19

/** 12 to 19 digits whose check digit is right (Luhn), whatever separates them. */
function isCardNumber(text: string): boolean {
  if (!/^[\d -]+$/.test(text)) return false
  const digits = text.replaceAll(/\D/g, '')
  return digits.length >= DIGITS_MIN && digits.length <= DIGITS_MAX && hasCheckDigit(digits)
}

/** Whether digits among which something is percent-encoded are a card number: all of them, or those of neighbouring groups. */
function hasEncodedCard(text: string): boolean {
  if (!text.includes('%')) return false
  const plain = text.replaceAll(/%(?:25)*3([0-9])/g, '$1').replaceAll(/%(?:25)*[0-9a-f]{2}/gi, ' ')
  const groups = plain.match(/\d+/g) ?? []
  return groups.some((_, first) => {
    let digits = ''
    for (let next = first; next < groups.length && digits.length < DIGITS_MAX; next++) {
      digits += groups[next]
      if (digits.length >= DIGITS_MIN && digits.length <= DIGITS_MAX && hasCheckDigit(digits)) return true
    }
    return false
  })
}

/** Nines: as a number in JSON they are a number still, and a run of them has no right check digit. */
function maskDigits(text: string): string {
  return text.replaceAll(/\d/g, '9')
}
