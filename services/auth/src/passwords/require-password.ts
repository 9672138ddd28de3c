import type { HttpError } from '@trestle/common/errors/define-error.ts'
import { validationFailed, weakPassword } from '../errors.ts'
import { checkPasswordPolicy, PASSWORD_BYTES_MAX, type PasswordPolicy, type WeakPassword } from './password-policy.ts'

/**
 * @throws validationFailed above 72 bytes, weakPassword with the reasons below the policy (reference: Password policy)
 */
export function requirePassword(policy: PasswordPolicy, password: string): void {
  const judged = checkPasswordPolicy(policy, password)
  if (judged.verdict === 'too-long') throw tooLong()
  if (judged.verdict === 'weak') throw refuseWeak(judged)
}

/** The error that tells what is weak about a password. */
export function refuseWeak({ message, reasons }: WeakPassword): HttpError {
  return weakPassword({ message, details: { weak_password: { reasons } } })
}

/** What an admin sets need not meet the policy, but every hash must be able to take it in. @throws validationFailed */
export function requireShortPassword(password: string): void {
  if (Buffer.byteLength(password) > PASSWORD_BYTES_MAX) throw tooLong()
}

function tooLong() {
  return validationFailed({ message: 'Password cannot be longer than 72 characters' })
}

/** The password of a signup. @throws validationFailed when it is missing, and as `requirePassword` does */
export function requireSignupPassword(policy: PasswordPolicy, password: string | undefined): string {
  if (!password) throw validationFailed({ message: 'Signup requires a valid password' })
  requirePassword(policy, password)
  return password
}
