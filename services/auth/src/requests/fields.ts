import { parsePhoneNumberFromString } from 'libphonenumber-js/min'
import { z } from 'zod'
import { FIELD_TEXTS } from '../field-errors.ts'
import { emailMalformed, emailMissing, emailTooLong } from '../request-errors.ts'

/** The two kinds of identifiers of a user: an email address, or a phone number. */
export type IdentifierKind = 'email' | 'phone'

/** A normalised email or phone number, by which a user is known. */
export interface UserIdentifier {
  readonly kind: IdentifierKind
  readonly value: string
}

/** A normalised email. */
export function requireEmail(email: string): string {
  if (email === '') throw emailMissing()
  if (email.length > EMAIL_LENGTH_MAX) throw emailTooLong()
  if (!isEmail(email)) throw emailMalformed()
  return normaliseEmail(email)
}

const EMAIL_LENGTH_MAX = 255

/** The expression of the HTML standard for `input type=email`: ASCII only, no dot needed in the domain. */
const EMAIL =
  /^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$/

/** Whether a text is an email address (reference: Email addresses). Nothing is trimmed. */
export function isEmail(text: string): boolean {
  return text.length <= EMAIL_LENGTH_MAX && EMAIL.test(text)
}

/** The form in which an email address is stored and compared. */
export function normaliseEmail(email: string): string {
  return email.toLowerCase()
}

/**
 * The E.164 digits of a phone number, without `+`; undefined when the text is not one (reference: Phone numbers). The text may
 * begin with `+` and contain spaces.
 */
export function normalisePhone(phone: string): string | undefined {
  const digits = stripPhone(phone)
  return /^[1-9][0-9]{1,14}$/.test(digits) ? digits : undefined
}

/** A phone number without a leading `+` and without spaces, otherwise unchanged. */
export function stripPhone(phone: string): string {
  return phone.replace(/^\+/, '').replaceAll(' ', '')
}

const DIGIT = /\p{Nd}/gu
/** Blanks, and characters without a shape, such as marks of the direction of text. */
const UNSEEN = /[\s\p{Z}\p{Cf}]/gu

/**
 * A code of digits as the service has sent it: without blanks between the digits, and with digits of other scripts as 0 to 9.
 * Another text, such as the token of a link, stays as it is.
 */
export function readCode(typed: string): string {
  const bare = typed.replaceAll(UNSEEN, '')
  return /^\p{Nd}+$/u.test(bare) ? readDigits(bare) : typed
}

/** A text with the digits 0 to 9 in place of those of other scripts. */
export function readDigits(text: string): string {
  return text.replaceAll(DIGIT, toDigit)
}

/** The digits of each script follow each other from its zero on, and the sets of several scripts may adjoin. */
function toDigit(digit: string): string {
  const code = digit.codePointAt(0) ?? 0
  let zero = code
  while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero -= 1
  return String((code - zero) % 10)
}

/** The library whose data say how the numbers of each country are written, and the day of its release. */
export const PHONE_DATA = { name: 'libphonenumber-js 1.13.16', asOf: '2026-11-10' } as const

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

// Members of requests, as the API document describes them. A schema takes any text. Functions such as `requireEmail` check the
// text, and choose the error that clients of GoTrue know. Empty texts count as absent.

/** The members that a request needs, for the API document alone. */
export const needs = (...required: readonly string[]): Readonly<Record<string, unknown>> => ({ required })

/** A text that a request may only leave empty, for the API document alone. */
export const ABSENT_TEXT = { type: ['string', 'null'], maxLength: 0 }

/** One of the forms of a body, for the API document alone. */
interface DocumentedForm {
  readonly required: readonly string[]
  readonly properties: Readonly<Record<string, unknown>>
}

/**
 * A form of a body by its texts, for the API document alone.
 * @param needed the texts that a body of this form has
 * @param refused the texts that it may not have
 */
export function withTexts(needed: readonly string[], refused: readonly string[] = []): DocumentedForm {
  const members = [
    ...needed.map((name) => [name, { type: 'string', minLength: 1 }] as const),
    ...refused.map((name) => [name, ABSENT_TEXT] as const),
  ]
  return { required: needed, properties: Object.fromEntries(members) }
}

/** An email address that a request may leave empty. */
export const emailField = z
  .string()
  .optional()
  .meta({
    pattern: `^$|${EMAIL.source}`,
    maxLength: EMAIL_LENGTH_MAX,
    example: 'ada@example.com',
    description: 'An email address',
  })

/** An email address in a form of a body that needs one, for the API document alone. */
export const EMAIL_ADDRESS = { type: 'string', pattern: EMAIL.source, maxLength: EMAIL_LENGTH_MAX }

export const neededEmailField = z
  .string()
  .optional()
  .meta({ ...EMAIL_ADDRESS, example: 'ada@example.com' })

const PHONE_PATTERN = '^\\+?[1-9][0-9]{1,14}$'

/** A phone number in a form of a body that needs one, for the API document alone. */
export const PHONE = { type: 'string', pattern: PHONE_PATTERN }

/** A phone number that a request may leave empty. */
export const phoneField = z
  .string()
  .optional()
  .meta({
    pattern: `^$|${PHONE_PATTERN}`,
    example: '+4520123456',
    description: 'A phone number with the code of its country',
  })

/** A form of a body that needs a member, and only some values of it: `form` with the member. For the API document alone. */
export function withValues(
  name: string,
  values: readonly string[],
  form: DocumentedForm = withTexts([]),
): DocumentedForm {
  const { required, properties } = form
  return { required: [name, ...required], properties: { ...properties, [name]: { enum: values } } }
}

const NEW_PASSWORD = { type: 'string', minLength: 6, maxLength: 72 }

/** A form that needs a new password too, for the API document alone. The settings may ask for a longer one. */
export function withNewPassword({ required, properties }: DocumentedForm): DocumentedForm {
  return { required: [...required, 'password'], properties: { ...properties, password: NEW_PASSWORD } }
}

/** A new password that a request may leave empty. */
export const passwordField = z
  .string()
  .optional()
  .meta({
    anyOf: [{ minLength: NEW_PASSWORD.minLength }, { maxLength: 0 }],
    maxLength: NEW_PASSWORD.maxLength,
    example: 'correct horse battery staple',
  })

const CHANNELS = ['sms', 'whatsapp', '']

export const channelField = z
  .string()
  .optional()
  .meta({ enum: CHANNELS, description: 'How a phone gets the code; sms by default' })

/** How a phone gets a code, in a body that may have no phone. Without a phone the channel is ignored, so any text is valid. */
export const freeChannelField = z
  .string()
  .optional()
  .meta({ description: 'How a phone gets the code: sms or whatsapp; sms by default' })

/** A form of a body whose phone gets a code by a channel that is known, for the API document alone. */
export function withChannel({ required, properties }: DocumentedForm): DocumentedForm {
  return { required, properties: { ...properties, channel: { enum: [...CHANNELS, null] } } }
}

export const idField = z.string().meta({ format: 'uuid' })

/** The answer to a captcha, where AUTH_SECURITY_CAPTCHA_ENABLED is on. Elsewhere nothing of it is read. */
export const captchaFields = {
  gotrue_meta_security: z
    .unknown()
    .optional()
    .meta({
      description: 'The answer to a captcha, where the service asks for one: an object',
      properties: { captcha_token: { description: 'The token of the captcha' } },
      example: { captcha_token: 'the token of the captcha' },
    }),
}

/** The time from which on something is ended: RFC 3339 with an offset. */
export const SinceField = z.iso
  .datetime({ offset: true, error: FIELD_TEXTS.time })
  .meta({ example: '2026-01-02T03:04:05Z' })
