import { parsePhoneNumberFromString } from 'libphonenumber-js/min'
import { z } from 'zod'
import { FIELD_TEXTS } from '../field-errors.ts'
import { emailMalformed, emailMissing, emailTooLong } from '../request-errors.ts'

/** The kinds of user identifiers. */
export type IdentifierKind = 'email' | 'phone'

/** A normalised email or phone number that identifies a user. */
export interface UserIdentifier {
  readonly kind: IdentifierKind
  readonly value: string
}

/** Requires an email address, and returns it normalised. */
export function requireEmail(email: string): string {
  if (email === '') throw emailMissing()
  if (email.length > EMAIL_LENGTH_MAX) throw emailTooLong()
  if (!isEmail(email)) throw emailMalformed()
  return normaliseEmail(email)
}

const EMAIL_LENGTH_MAX = 255

/** The regular expression of the HTML standard for `input type=email`: only ASCII, and the domain needs no dot. */
const EMAIL =
  /^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$/

/** Returns whether a text is an email address (reference: Email addresses). Trims nothing. */
export function isEmail(text: string): boolean {
  return text.length <= EMAIL_LENGTH_MAX && EMAIL.test(text)
}

/** Returns the form in which an email address is stored and compared. */
export function normaliseEmail(email: string): string {
  return email.toLowerCase()
}

/**
 * Returns the E.164 digits of a phone number without `+`, or `undefined` if the text is not one (reference: Phone numbers). The
 * text may begin with `+` and contain spaces.
 */
export function normalisePhone(phone: string): string | undefined {
  const digits = stripPhone(phone)
  return /^[1-9][0-9]{1,14}$/.test(digits) ? digits : undefined
}

/** Removes a leading `+` and all spaces from a phone number. */
export function stripPhone(phone: string): string {
  return phone.replace(/^\+/, '').replaceAll(' ', '')
}

const DIGIT = /\p{Nd}/gu
/** White space and invisible characters, such as text direction marks. */
const UNSEEN = /[\s\p{Z}\p{Cf}]/gu

/**
 * Removes white space from a typed code of digits, and converts digits of other scripts to 0 to 9. Any other text, such as a link
 * token, stays unchanged.
 */
export function readCode(typed: string): string {
  const bare = typed.replaceAll(UNSEEN, '')
  return /^\p{Nd}+$/u.test(bare) ? readDigits(bare) : typed
}

/** Replaces digits of other scripts by 0 to 9. */
export function readDigits(text: string): string {
  return text.replaceAll(DIGIT, toDigit)
}

/** In each script, the digits 0 to 9 are consecutive code points. The digits of several scripts may be adjacent. */
function toDigit(digit: string): string {
  const code = digit.codePointAt(0) ?? 0
  let zero = code
  while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero -= 1
  return String((code - zero) % 10)
}

/** The library with the number formats of each country, and its release date. */
export const PHONE_DATA = { name: 'libphonenumber-js 1.13.16', asOf: '2026-11-10' } as const

export interface TypedPhone {
  /** All typed digits. */
  readonly digits: string
  /** The international digits. `undefined` if no number of the country has this form. */
  readonly parsed: string | undefined
}

/** White space, invisible characters, dashes, brackets, dots and slashes, which people write between digits. */
const PUNCTUATION = /[\s\p{Z}\p{Cf}\p{Pd}\p{Ps}\p{Pe}./]/gu

/**
 * Reads a phone number as people write it (reference: Phone numbers). `+44 (0) 7418-084106` has the digits 4407418084106, and is
 * parsed to 447418084106. Accepts digits of any script. Returns `undefined` if the text is no number with a country code.
 */
export function readTypedPhone(text: string): TypedPhone | undefined {
  const digits = normalisePhone(readDigits(text.replaceAll(PUNCTUATION, '').replace(/^＋/, '+')))
  return digits === undefined ? undefined : { digits, parsed: parseDigits(digits) }
}

/**
 * The library removes one prefix, such as the 0 before a national number. A text may have several prefixes: `+44 0 0259…` is the
 * number of `+44 0259…`. Repeat until the number stays the same.
 */
function parseDigits(digits: string): string | undefined {
  const number = parsePhoneNumberFromString(`+${digits}`)
  if (!number?.isPossible()) return undefined
  const parsed = number.number.slice(1)
  return parsed.length < digits.length ? parseDigits(parsed) : parsed
}

// Members of requests, as the API document describes them. A schema accepts any text. Functions such as `requireEmail` check the
// text and throw the errors of GoTrue. Empty texts count as absent.

/** The required members of a request, only for the API document. */
export const needs = (...required: readonly string[]): Readonly<Record<string, unknown>> => ({ required })

/** A text that must be empty, only for the API document. */
export const ABSENT_TEXT = { type: ['string', 'null'], maxLength: 0 }

/** A form of a body, only for the API document. */
interface DocumentedForm {
  readonly required: readonly string[]
  readonly properties: Readonly<Record<string, unknown>>
}

/**
 * Returns a form of a body with text members, only for the API document.
 * @param needed the required texts
 * @param refused the texts that this form must not have
 */
export function withTexts(needed: readonly string[], refused: readonly string[] = []): DocumentedForm {
  const members = [
    ...needed.map((name) => [name, { type: 'string', minLength: 1 }] as const),
    ...refused.map((name) => [name, ABSENT_TEXT] as const),
  ]
  return { required: needed, properties: Object.fromEntries(members) }
}

/** An email address that may be empty. */
export const emailField = z
  .string()
  .optional()
  .meta({
    pattern: `^$|${EMAIL.source}`,
    maxLength: EMAIL_LENGTH_MAX,
    example: 'ada@example.com',
    description: 'An email address',
  })

/** A required email address, only for the API document. */
export const EMAIL_ADDRESS = { type: 'string', pattern: EMAIL.source, maxLength: EMAIL_LENGTH_MAX }

export const neededEmailField = z
  .string()
  .optional()
  .meta({ ...EMAIL_ADDRESS, example: 'ada@example.com' })

const PHONE_PATTERN = '^\\+?[1-9][0-9]{1,14}$'

/** A required phone number, only for the API document. */
export const PHONE = { type: 'string', pattern: PHONE_PATTERN }

/** A phone number that may be empty. */
export const phoneField = z
  .string()
  .optional()
  .meta({
    pattern: `^$|${PHONE_PATTERN}`,
    example: '+4520123456',
    description: 'A phone number with the code of its country',
  })

/** Adds a required member with the given values to a form, only for the API document. */
export function withValues(
  name: string,
  values: readonly string[],
  form: DocumentedForm = withTexts([]),
): DocumentedForm {
  const { required, properties } = form
  return { required: [name, ...required], properties: { ...properties, [name]: { enum: values } } }
}

const NEW_PASSWORD = { type: 'string', minLength: 6, maxLength: 72 }

/** Adds a required password, only for the API document. The settings may require a longer one. */
export function withNewPassword({ required, properties }: DocumentedForm): DocumentedForm {
  return { required: [...required, 'password'], properties: { ...properties, password: NEW_PASSWORD } }
}

/** A new password that may be empty. */
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

/** The channel for a code, in a body that may have no phone. Without a phone, any text is valid and ignored. */
export const freeChannelField = z
  .string()
  .optional()
  .meta({ description: 'How a phone gets the code: sms or whatsapp; sms by default' })

/** Restricts the channel of a form to the known ones, only for the API document. */
export function withChannel({ required, properties }: DocumentedForm): DocumentedForm {
  return { required, properties: { ...properties, channel: { enum: [...CHANNELS, null] } } }
}

export const idField = z.string().meta({ format: 'uuid' })

/** The answer to a captcha. It is read only if AUTH_SECURITY_CAPTCHA_ENABLED is on. */
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

/** The time since which sessions or other objects are ended: RFC 3339 with an offset. */
export const SinceField = z.iso
  .datetime({ offset: true, error: FIELD_TEXTS.time })
  .meta({ example: '2026-01-02T03:04:05Z' })
