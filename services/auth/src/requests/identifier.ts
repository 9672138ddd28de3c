import { emailMalformed, emailMissing, emailTooLong } from '../request-errors.ts'

/** The two kinds of identifiers of a user: an email address, or a phone number. */
export type IdentifierKind = 'email' | 'phone'

/** A normalised email or phone number, by which a user is known. */
export interface UserIdentifier {
  readonly kind: IdentifierKind
  readonly value: string
}

/** A normalised email. @throws emailMissing, emailTooLong, emailMalformed */
export function requireEmail(email: string): string {
  if (email === '') throw emailMissing()
  if (email.length > EMAIL_LENGTH_MAX) throw emailTooLong()
  if (!isEmail(email)) throw emailMalformed()
  return normaliseEmail(email)
}

/** The longest email address. */
export const EMAIL_LENGTH_MAX = 255

/** The expression of the HTML standard for `input type=email`: ASCII only, no dot needed in the domain. */
export const EMAIL =
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

/** A phone number without a leading `+` and without spaces, whatever the rest is. */
export function stripPhone(phone: string): string {
  return phone.replace(/^\+/, '').replaceAll(' ', '')
}
