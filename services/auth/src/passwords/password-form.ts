/** A stored password hash that this service can compare with, taken apart. */
export type PasswordForm =
  | { readonly alg: 'argon2id' | 'argon2i'; readonly hash: string; readonly cost: Argon2Cost }
  | { readonly alg: 'bcrypt'; readonly hash: string }
  | ({ readonly alg: 'scrypt' | 'firebase-scrypt' } & ScryptForm)
  | {
      readonly alg: 'pbkdf2'
      readonly digest: string
      readonly iterations: number
      readonly salt: Buffer
      readonly key: Buffer
    }

export interface Argon2Cost {
  /** KiB. */
  readonly m: number
  /** Passes. */
  readonly t: number
  /** Lanes. */
  readonly p: number
}

export interface ScryptForm {
  /** N, a power of two. */
  readonly cost: number
  readonly blockSize: number
  readonly parallelization: number
  readonly salt: Buffer
  /** The derived key; for firebase-scrypt the key stream that it makes. */
  readonly key: Buffer
}

const BCRYPT = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/
const PBKDF2_DIGESTS = new Map([
  ['pbkdf2', 'sha1'],
  ['pbkdf2-sha1', 'sha1'],
  ['pbkdf2-sha256', 'sha256'],
  ['pbkdf2-sha512', 'sha512'],
])

// A hash that costs more than about a second, or 256 MiB, would be a way to stop the service by signing in.
const ARGON2_MEMORY_KIB_MAX = 2 ** 18
const ARGON2_WORK_MAX = 2 ** 20
const BCRYPT_COST_MIN = 4
const BCRYPT_COST_MAX = 14
const SCRYPT_MEMORY_MAX = 2 ** 28
const SCRYPT_WORK_MAX = 2 ** 29
const PBKDF2_ITERATIONS_MAX = 3_000_000
/** Shorter salts and keys are a mistake of whoever made the hash, or an attempt to make any password fit. */
const SALT_BYTES_MIN = 8
const KEY_BYTES_MIN = 16
const BYTES_MAX = 128

/** What fits into the column of stored hashes. */
export const HASH_LENGTH_MAX = 255

/**
 * Reads a hash in PHC string form, or that of bcrypt. Undefined when the form is not known, is damaged, or asks for more
 * work than a login may cost.
 */
export function parsePasswordHash(hash: string): PasswordForm | undefined {
  const [start, id = '', ...parts] = hash.split('$')
  if (start !== '') return undefined
  if (id === 'argon2id' || id === 'argon2i') return parseArgon2(id, hash, parts)
  if (id === 'scrypt' || id === 'firebase-scrypt') return parseScrypt(id, parts)
  const digest = PBKDF2_DIGESTS.get(id)
  if (digest !== undefined) return parsePbkdf2(digest, parts)
  const bcryptCost = Number(BCRYPT.exec(hash)?.[1])
  return bcryptCost >= BCRYPT_COST_MIN && bcryptCost <= BCRYPT_COST_MAX ? { alg: 'bcrypt', hash } : undefined
}

function parseArgon2(
  alg: 'argon2id' | 'argon2i',
  hash: string,
  [version, parameters, ...bytes]: readonly string[],
): PasswordForm | undefined {
  const cost = toNumbers(parameters, ['m', 't', 'p'])
  // The library reads the text once more, and takes no other spelling of the same bytes.
  if (version !== 'v=19' || !cost || !toSaltAndKey(bytes) || !bytes.every(isCanonical)) return undefined
  const { m = 0, t = 0, p = 0 } = cost
  if (t < 1 || p < 1 || m < 8 * p || m > ARGON2_MEMORY_KIB_MAX || m * t > ARGON2_WORK_MAX) return undefined
  return { alg, hash, cost: { m, t, p } }
}

function parseScrypt(
  alg: 'scrypt' | 'firebase-scrypt',
  [parameters, ...bytes]: readonly string[],
): PasswordForm | undefined {
  const numbers = toNumbers(parameters, ['ln', 'r', 'p'])
  const saltAndKey = toSaltAndKey(bytes)
  if (!numbers || !saltAndKey) return undefined
  const { ln = 0, r = 0, p = 0 } = numbers
  const memory = 128 * 2 ** ln * r
  if (ln < 1 || r < 1 || p < 1 || memory > SCRYPT_MEMORY_MAX || memory * p > SCRYPT_WORK_MAX) return undefined
  return { alg, cost: 2 ** ln, blockSize: r, parallelization: p, ...saltAndKey }
}

/** `i=<iterations>[,l=<bytes>]` as in PHC strings, or the bare number of Python's passlib. */
function parsePbkdf2(digest: string, [parameters = '', ...bytes]: readonly string[]): PasswordForm | undefined {
  const text = /^\d+$/.test(parameters) ? `i=${parameters}` : parameters
  const numbers = toNumbers(text, ['i']) ?? toNumbers(text, ['i', 'l'])
  const saltAndKey = toSaltAndKey(bytes)
  if (!numbers || !saltAndKey) return undefined
  const { i: iterations = 0, l = saltAndKey.key.length } = numbers
  if (iterations < 1 || iterations > PBKDF2_ITERATIONS_MAX || l !== saltAndKey.key.length) return undefined
  return { alg: 'pbkdf2', digest, iterations, ...saltAndKey }
}

/** Reads `a=1,b=2`: exactly the given names, in any order. */
function toNumbers(text: string | undefined, names: readonly string[]): Readonly<Record<string, number>> | undefined {
  const entries = (text ?? '').split(',').map((part) => /^([a-z]+)=(\d{1,10})$/.exec(part) ?? [])
  const numbers = Object.fromEntries(entries.map(([, name = '', value]) => [name, Number(value)]))
  const isComplete = entries.length === names.length && names.every((name) => Object.hasOwn(numbers, name))
  return isComplete ? numbers : undefined
}

function toSaltAndKey(parts: readonly string[]): { readonly salt: Buffer; readonly key: Buffer } | undefined {
  const [salt, key, ...rest] = parts.map(decodeBase64)
  if (!salt || !key || rest.length > 0) return undefined
  const fits = salt.length >= SALT_BYTES_MIN && key.length >= KEY_BYTES_MIN
  return fits && salt.length <= BYTES_MAX && key.length <= BYTES_MAX ? { salt, key } : undefined
}

/** The bytes of base64 in any of its alphabets (that of passlib has `.` for `+`); undefined for other text. */
export function decodeBase64(text: string): Buffer | undefined {
  if (!/^[A-Za-z0-9+/._-]+={0,2}$/.test(text)) return undefined
  const digits = text.replace(/=+$/, '')
  return digits.length % 4 === 1 ? undefined : Buffer.from(digits.replaceAll('.', '+'), 'base64')
}

function isCanonical(text: string): boolean {
  return Buffer.from(text, 'base64').toString('base64').replace(/=+$/, '') === text
}
