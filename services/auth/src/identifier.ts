import { validationFailed } from './errors.ts'

/** A normalised email or phone number, by which a user is known. */
export interface UserIdentifier {
  readonly kind: 'email' | 'phone'
  readonly value: string
}

/** The normalised email of a body, or its phone number where it has no email. @throws validationFailed */
export function requireIdentifier(body: {
  readonly email?: string | undefined
  readonly phone?: string | undefined
}): UserIdentifier {
  if (body.email) return { kind: 'email', value: requireEmail(body.email) }
  return { kind: 'phone', value: requirePhone(body.phone ?? '') }
}

/** A normalised email. @throws validationFailed */
export function requireEmail(email: string): string {
  const message = emailProblem(email)
  if (message !== undefined) throw validationFailed({ message })
  return normaliseEmail(email)
}

/** A normalised phone number: its digits. @throws validationFailed */
export function requirePhone(phone: string): string {
  const digits = normalisePhone(phone)
  if (digits === undefined) throw validationFailed({ message: 'Invalid phone number format (E.164 required)' })
  return digits
}

const EMAIL_LENGTH_MAX = 255

// The expression of the HTML standard for `input type=email`: ASCII only, no dot needed in the domain.
const EMAIL =
  /^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$/

/** Why a text is not an email address; undefined when it is (reference: Email addresses). Nothing is trimmed. */
export function emailProblem(email: string): string | undefined {
  if (email === '') return 'An email address is required'
  if (email.length > EMAIL_LENGTH_MAX) return 'An email address is too long'
  return EMAIL.test(email) ? undefined : 'Unable to validate email address: invalid format'
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
  const digits = phone.replace(/^\+/, '').replaceAll(' ', '')
  return /^[1-9][0-9]{1,14}$/.test(digits) ? digits : undefined
}
