import { z } from 'zod'
import { type CardExpiry, isExpired, lastDay } from '../cards/card-expiry.ts'
import { asciiDigits, digitsIn } from '../cards/card-number.ts'
import type { TextName, Translate } from '../pages/locale.ts'
import { isRefusal, processingError, processingErrorOf, REFUSAL_CODES } from '../transactions/processing-error.ts'

/** The fields of the card form, in display order. */
export const CARD_FIELDS = ['number', 'expiry', 'code'] as const
export type CardField = (typeof CARD_FIELDS)[number]

export type CardInput = Readonly<Record<CardField, string>>

/** A parsed card. Number and code contain only digits. */
interface WrittenCard {
  readonly number: string
  readonly expiry: CardExpiry
  readonly code: string
}

type FieldProblem = 'numberInvalid' | 'expiryInvalid' | 'expiryPast' | 'codeInvalid'
/** The problems of the fields of a card form. A field without a problem is absent. */
export type FieldProblems = Partial<Readonly<Record<CardField, FieldProblem>>>

type ReadCard =
  | { readonly verdict: 'read'; readonly card: WrittenCard }
  | { readonly verdict: 'problem'; readonly problems: FieldProblems }

const NUMBER = /^\d{10,19}$/
const CODE = /^\d{3}$/
/** Month and year, or a four-digit year and the month. Browsers and password managers fill in both orders. */
const EXPIRIES = [
  /^(?<month>0?[1-9]|1[0-2])\s*[/.\-\s]?\s*(?:20)?(?<year>\d{2})$/,
  /^20(?<year>\d{2})\s*[/.\-\s]?\s*(?<month>0?[1-9]|1[0-2])$/,
] as const
const CENTURY = 2_000

/**
 * Reads the card form. From the number and the code it takes the digits of any script and drops all other characters, as the
 * script of the page does. It does not check whether the card exists.
 */
export function readCardInput(input: CardInput, now: Date): ReadCard {
  const number = digitsIn(input.number)
  const code = digitsIn(input.code)
  const expiry = readExpiry(input.expiry)
  const expiryProblem = expiry ? isExpired(lastDay(expiry), now) && 'expiryPast' : 'expiryInvalid'
  const problems: FieldProblems = {
    ...(NUMBER.test(number) ? {} : { number: 'numberInvalid' }),
    ...(expiryProblem ? { expiry: expiryProblem } : {}),
    ...(CODE.test(code) ? {} : { code: 'codeInvalid' }),
  }
  if (!expiry || Object.keys(problems).length > 0) return { verdict: 'problem', problems }
  return { verdict: 'read', card: { number, expiry, code } }
}

function readExpiry(text: string): CardExpiry | undefined {
  const plain = asciiDigits(text)
    .replaceAll(/\p{Cf}/gu, '')
    .replaceAll(/[\p{Pd}\u2212]/gu, '-')
    .replaceAll(/[\u2044\u2215\uff0f]/g, '/')
    // `EXPIRIES` allows blanks in several places, so a long run of blanks would take seconds.
    .replaceAll(/\s+/g, ' ')
    .trim()
  const read = EXPIRIES.map((form) => form.exec(plain)?.groups).find((groups) => groups !== undefined)
  return read && { month: Number(read.month), year: CENTURY + Number(read.year) }
}

/** A tokenized card and the state of its payment. The script of the page submits it at the end. */
export const TokenizedCard = z.object({
  number: z.string().max(1_024),
  code: z.string().max(1_024),
  expiry: z.object({ month: z.int().min(1).max(12), year: z.int().min(2_000).max(2_099) }),
  hints: z.array(z.string().max(4_096)).max(50),
})
export type TokenizedCard = z.output<typeof TokenizedCard>

/** Reads a tokenized card from JSON. Returns `undefined` for any other text. */
export function readTokenizedCard(text: string): TokenizedCard | undefined {
  try {
    return TokenizedCard.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}

/** The text about a refusal, and the form field that the refusal concerns, if any. */
export interface Refusal {
  readonly text: TextName
  readonly field?: CardField
}

/**
 * Texts by processing error. All other errors, and errors caused by the merchant, get a neutral text (reference: After the
 * payment).
 */
const REFUSALS: readonly (readonly [readonly number[], Refusal])[] = [
  [[3, 17, 29], { text: 'refusedNumber', field: 'number' }],
  [[4, 20], { text: 'refusedCode', field: 'code' }],
  [[5, 6, 18, 19], { text: 'refusedExpiry', field: 'expiry' }],
  [[2], { text: 'refusedCard' }],
  [[7, 8, 9, 10, 25], { text: 'refusedIssuer' }],
  [[11, 12], { text: 'refusedNetwork' }],
  [[30, 31], { text: 'refusedTds' }],
]
const BY_ERROR = new Map(REFUSALS.flatMap(([errors, refusal]) => errors.map((error) => [error, refusal] as const)))

/** Checkout codes that have no processing error, or that mean something else on this page. */
const BY_CODE = new Map<string, Refusal>(
  // The tokens of this page were new. This code therefore means that they expired or were used while the customer was away.
  ['TOKEN_INVALID', 'PAYMENT_CHALLENGE_UNAVAILABLE'].map((code) => [code, { text: 'tooLong' }] as const),
)
const NEUTRAL: Refusal = { text: 'refusedOther' }

export function refusalOf(statusCode: string): Refusal {
  const known = BY_CODE.get(statusCode)
  if (known || !isRefusal(statusCode)) return known ?? NEUTRAL
  const { code, client } = processingError(processingErrorOf(statusCode))
  return (client ? BY_ERROR.get(code) : undefined) ?? NEUTRAL
}

/** Returns the texts of the script by status code. The empty code stands for all other codes. */
export function refusalTable(
  say: Translate,
): Readonly<Record<string, { readonly text: string; readonly field?: CardField }>> {
  const codes = [...REFUSAL_CODES, ...BY_CODE.keys()]
  const texts = codes.map((code) => [code, refusalOf(code)] as const).filter(([, refusal]) => refusal !== NEUTRAL)
  return Object.fromEntries([...texts, ['', NEUTRAL] as const].map(([code, r]) => [code, { ...r, text: say(r.text) }]))
}
