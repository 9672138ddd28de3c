import { validationFailed } from '../errors.ts'
import { isArgon2Hash } from './argon2.ts'

/** Modular crypt form; a cost above 16 would be seconds of work at each login. */
const BCRYPT = /^\$2[aby]\$(?:0[4-9]|1[0-6])\$[./A-Za-z0-9]{53}$/
const ARGON2_MEMORY_MAX_KIB = 1_048_576
const ARGON2_TIME_MAX = 100
const ARGON2_LANES_MAX = 64

/**
 * The hash of a password that was set elsewhere: argon2id, argon2i or bcrypt, at costs that a login may have.
 * @throws validationFailed
 */
export function requireAcceptedHash(hash: string): string {
  if (BCRYPT.test(hash) || (isArgon2Hash(hash) && hasBearableCosts(hash))) return hash
  throw validationFailed({ message: 'password_hash must be an argon2id, argon2i or bcrypt hash' })
}

function hasBearableCosts(hash: string): boolean {
  const cost = (name: string) => Number(new RegExp(`[$,]${name}=(\\d+)`).exec(hash)?.[1])
  return cost('m') <= ARGON2_MEMORY_MAX_KIB && cost('t') <= ARGON2_TIME_MAX && cost('p') <= ARGON2_LANES_MAX
}
