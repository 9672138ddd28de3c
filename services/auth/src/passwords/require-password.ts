import { validationFailed, weakPassword } from '../errors.ts'
import { checkPasswordPolicy, type PasswordPolicy } from './password-policy.ts'

/** @throws validationFailed above 72 bytes, weakPassword with the reasons below the policy (contract 7.8) */
export function requirePassword(policy: PasswordPolicy, password: string): void {
  const judged = checkPasswordPolicy(policy, password)
  if (judged.verdict === 'too-long') {
    throw validationFailed({ message: 'Password cannot be longer than 72 characters' })
  }
  if (judged.verdict === 'weak') {
    throw weakPassword({ message: judged.message, details: { weak_password: { reasons: judged.reasons } } })
  }
}

/** The password of a signup. @throws validationFailed when it is missing, and as `requirePassword` does */
export function requireSignupPassword(policy: PasswordPolicy, password: string | undefined): string {
  if (!password) throw validationFailed({ message: 'Signup requires a valid password' })
  requirePassword(policy, password)
  return password
}
