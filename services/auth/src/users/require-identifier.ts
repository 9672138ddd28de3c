import { validationFailed } from '../errors.ts'
import { emailProblem, normaliseEmail } from './email-address.ts'
import { normalisePhone } from './phone-number.ts'
import type { UserIdentifier } from './user-repository.ts'

/** The normalised email, or else phone number, of a body. @throws validationFailed */
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

/** Digits of a phone number. @throws validationFailed */
export function requirePhone(phone: string): string {
  const digits = normalisePhone(phone)
  if (digits === undefined) throw validationFailed({ message: 'Invalid phone number format (E.164 required)' })
  return digits
}
