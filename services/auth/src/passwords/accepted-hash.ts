import { validationFailed } from '../errors.ts'
import { HASH_LENGTH_MAX, type PasswordForm, parsePasswordHash } from './password-form.ts'

/** The forms that the admin API takes; `users import` takes all that can be compared. */
const ACCEPTED: ReadonlySet<PasswordForm['alg'] | undefined> = new Set(['argon2id', 'argon2i', 'bcrypt'])

/**
 * The hash of a password that was set elsewhere: argon2id, argon2i or bcrypt, at costs that a login may have.
 * @throws validationFailed
 */
export function requireAcceptedHash(hash: string): string {
  if (hash.length > HASH_LENGTH_MAX) {
    throw validationFailed({ message: `password_hash may not be longer than ${HASH_LENGTH_MAX} characters` })
  }
  if (ACCEPTED.has(parsePasswordHash(hash)?.alg)) return hash
  throw validationFailed({ message: 'password_hash must be an argon2id, argon2i or bcrypt hash' })
}
