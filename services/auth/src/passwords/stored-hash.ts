import { IMPORT_TEXTS } from '../field-errors.ts'
import { passwordHashTooLong, passwordHashUnsupported } from '../request-errors.ts'
import type { RandomBytes } from '../secrets/encrypted-secret.ts'

/** A parsed password hash that this service can verify. */
export type StoredHash =
  | { readonly alg: 'argon2id' | 'argon2i'; readonly hash: string; readonly cost: Argon2Cost }
  | { readonly alg: 'bcrypt'; readonly hash: string }
  | ({ readonly alg: 'scrypt' | 'firebase-scrypt' } & ScryptHash)
  | {
      readonly alg: 'pbkdf2'
      readonly digest: string
      readonly iterations: number
      readonly salt: Uint8Array
      readonly key: Uint8Array
    }

/** The cost of an argon2 hash, with the names of PHC strings. */
interface Argon2Cost {
  /** Memory in KiB. */
  readonly m: number
  /** Passes. */
  readonly t: number
  /** Lanes. */
  readonly p: number
}

/** A parsed hash of scrypt or firebase-scrypt, with the parameters of RFC 7914. */
export interface ScryptHash {
  /** N, a power of two. */
  readonly cost: number
  /** r, in blocks of 128 bytes. */
  readonly blockSize: number
  readonly parallelization: number
  readonly salt: Uint8Array
  /** The derived key. For firebase-scrypt, the key stream that the derived key produces. */
  readonly key: Uint8Array
}

/** The cost of new argon2id hashes: the first recommendation of OWASP. */
export const ARGON2_COST: Argon2Cost = { m: 19_456, t: 2, p: 1 }

/** The algorithms for new hashes. */
export const PASSWORD_ALGORITHMS = ['argon2id', 'bcrypt'] as const

/** The algorithm of new hashes (PASSWORD_HASH). */
export type PasswordAlgorithm = (typeof PASSWORD_ALGORITHMS)[number]

/** The cost of new bcrypt hashes. supabase/auth uses the same. */
export const BCRYPT_COST = 10

const BCRYPT = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/
const PBKDF2_DIGESTS = new Map([
  ['pbkdf2', 'sha1'],
  ['pbkdf2-sha1', 'sha1'],
  ['pbkdf2-sha256', 'sha256'],
  ['pbkdf2-sha512', 'sha512'],
])

// Reject hashes that take more than about a second or 256 MiB. Sign-ins with them could block the service.
const ARGON2_MEMORY_KIB_MAX = 2 ** 18
const ARGON2_WORK_MAX = 2 ** 20
const BCRYPT_COST_MIN = 4
const BCRYPT_COST_MAX = 14
const SCRYPT_MEMORY_MAX = 2 ** 28
const SCRYPT_WORK_MAX = 2 ** 29
const PBKDF2_ITERATIONS_MAX = 3_000_000
/** A shorter salt or key comes from a faulty program, or from an attempt to make any password match. */
const SALT_BYTES_MIN = 8
const KEY_BYTES_MIN = 16
const BYTES_MAX = 128

/** The size of the column for hashes. */
export const HASH_LENGTH_MAX = 255

/**
 * Parses a hash in PHC string form or in bcrypt form. Returns `undefined` if the form is unknown or damaged, or if verifying the
 * hash would cost more than a sign-in may cost.
 */
export function parseStoredHash(hash: string): StoredHash | undefined {
  const [start, id = '', ...parts] = hash.split('$')
  if (start !== '') return undefined
  if (id === 'argon2id' || id === 'argon2i') return parseArgon2(id, hash, parts)
  if (id === 'scrypt' || id === 'firebase-scrypt') return parseScrypt(id, parts)
  const digest = PBKDF2_DIGESTS.get(id)
  if (digest !== undefined) return parsePbkdf2(digest, parts)
  const bcryptCost = Number(BCRYPT.exec(hash)?.[1])
  return bcryptCost >= BCRYPT_COST_MIN && bcryptCost <= BCRYPT_COST_MAX ? { alg: 'bcrypt', hash } : undefined
}

/** The forms that the admin API accepts. `users import` accepts every form that can be parsed. */
const ACCEPTED: ReadonlySet<StoredHash['alg'] | undefined> = new Set(['argon2id', 'argon2i', 'bcrypt'])

/** Requires a hash that the admin API accepts: argon2id, argon2i or bcrypt, at a cost that a sign-in may have. */
export function requireAcceptedHash(hash: string): string {
  if (hash.length > HASH_LENGTH_MAX) throw passwordHashTooLong({ max: HASH_LENGTH_MAX })
  if (ACCEPTED.has(parseStoredHash(hash)?.alg)) return hash
  throw passwordHashUnsupported()
}

/** Returns whether the algorithm or the cost of a hash differs from that of new hashes. */
export function isOutdated(stored: StoredHash, algorithm: PasswordAlgorithm = 'argon2id'): boolean {
  if (stored.alg !== algorithm) return true
  if (stored.alg === 'bcrypt') return Number(BCRYPT.exec(stored.hash)?.[1]) !== BCRYPT_COST
  const { m, t, p } = stored.cost
  return m !== ARGON2_COST.m || t !== ARGON2_COST.t || p !== ARGON2_COST.p
}

/**
 * Returns the hash of an unknown password, made of random bytes instead of a salt and a digest. No hash is computed. The user
 * then has a password, but must set a new one to sign in with it.
 */
export function hashOfUnknownPassword(randomBytes: RandomBytes, algorithm: PasswordAlgorithm): string {
  if (algorithm === 'bcrypt') return `$2a$${BCRYPT_COST}$${randomBcrypt(randomBytes)}`
  const { m, t, p } = ARGON2_COST
  const random = (bytes: number) => randomBytes(bytes).toString('base64').replace(/=+$/, '')
  return `$argon2id$v=19$m=${m},t=${t},p=${p}$${random(16)}$${random(32)}`
}

const BCRYPT_LETTERS = './ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const BCRYPT_LENGTH = 53
/** The index of the last character of the salt, of which only two bits count. */
const SALT_END = 21

function randomBcrypt(randomBytes: RandomBytes): string {
  const letters = [...randomBytes(BCRYPT_LENGTH)].map(
    (byte, place) => byte & (place === SALT_END ? 0b110000 : 0b111111),
  )
  return letters.map((letter) => BCRYPT_LETTERS[letter]).join('')
}

function parseArgon2(
  alg: 'argon2id' | 'argon2i',
  hash: string,
  [version, parameters, ...bytes]: readonly string[],
): StoredHash | undefined {
  const cost = toNumbers(parameters, ['m', 't', 'p'])
  // The argon2 library parses the text again, and accepts only the canonical base64 form.
  if (version !== 'v=19' || !cost || !toSaltAndKey(bytes) || !bytes.every(isCanonical)) return undefined
  const { m = 0, t = 0, p = 0 } = cost
  if (t < 1 || p < 1 || m < 8 * p || m > ARGON2_MEMORY_KIB_MAX || m * t > ARGON2_WORK_MAX) return undefined
  return { alg, hash, cost: { m, t, p } }
}

function parseScrypt(
  alg: 'scrypt' | 'firebase-scrypt',
  [parameters, ...bytes]: readonly string[],
): StoredHash | undefined {
  const numbers = toNumbers(parameters, ['ln', 'r', 'p'])
  const saltAndKey = toSaltAndKey(bytes)
  if (!numbers || !saltAndKey) return undefined
  const { ln = 0, r = 0, p = 0 } = numbers
  const memory = 128 * 2 ** ln * r
  if (ln < 1 || r < 1 || p < 1 || memory > SCRYPT_MEMORY_MAX || memory * p > SCRYPT_WORK_MAX) return undefined
  return { alg, cost: 2 ** ln, blockSize: r, parallelization: p, ...saltAndKey }
}

/** `i=<iterations>[,l=<bytes>]` as in PHC strings, or only a number as in Python's passlib. */
function parsePbkdf2(digest: string, [parameters = '', ...bytes]: readonly string[]): StoredHash | undefined {
  const text = /^\d+$/.test(parameters) ? `i=${parameters}` : parameters
  const numbers = toNumbers(text, ['i']) ?? toNumbers(text, ['i', 'l'])
  const saltAndKey = toSaltAndKey(bytes)
  if (!numbers || !saltAndKey) return undefined
  const { i: iterations = 0, l = saltAndKey.key.length } = numbers
  if (iterations < 1 || iterations > PBKDF2_ITERATIONS_MAX || l !== saltAndKey.key.length) return undefined
  return { alg: 'pbkdf2', digest, iterations, ...saltAndKey }
}

/** Parses `a=1,b=2` with exactly the given names, in any order. */
function toNumbers(text: string | undefined, names: readonly string[]): Readonly<Record<string, number>> | undefined {
  const entries = (text ?? '').split(',').map((part) => /^([a-z]+)=(\d{1,10})$/.exec(part) ?? [])
  const numbers = Object.fromEntries(entries.map(([, name = '', value]) => [name, Number(value)]))
  const isComplete = entries.length === names.length && names.every((name) => Object.hasOwn(numbers, name))
  return isComplete ? numbers : undefined
}

function toSaltAndKey(parts: readonly string[]): Pick<ScryptHash, 'salt' | 'key'> | undefined {
  const [salt, key, ...rest] = parts.map(decodeBase64)
  if (!salt || !key || rest.length > 0) return undefined
  const fits = salt.length >= SALT_BYTES_MIN && key.length >= KEY_BYTES_MIN
  // Copy them: a small Buffer is part of a pool, and the whole pool would be sent to the hash thread.
  return fits && salt.length <= BYTES_MAX && key.length <= BYTES_MAX
    ? { salt: new Uint8Array(salt), key: new Uint8Array(key) }
    : undefined
}

/** Decodes any base64 alphabet. passlib writes `.` for `+`. Returns `undefined` for other text. */
export function decodeBase64(text: string): Buffer | undefined {
  if (!/^[A-Za-z0-9+/._-]+={0,2}$/.test(text)) return undefined
  const digits = text.replace(/=+$/, '')
  return digits.length % 4 === 1 ? undefined : Buffer.from(digits.replaceAll('.', '+'), 'base64')
}

function isCanonical(text: string): boolean {
  return Buffer.from(text, 'base64').toString('base64').replace(/=+$/, '') === text
}

/** The parameters of a Firebase project for its users' hashes ("Password hash parameters" in its console). */
export interface FirebaseParameters {
  readonly signerKey: Buffer
  readonly saltSeparator: Buffer
  /** The block size of scrypt. */
  readonly rounds: number
  /** The base-2 logarithm of the scrypt cost. */
  readonly memCost: number
}

/**
 * Converts a Firebase hash into the stored form `$firebase-scrypt$ln=…,r=…,p=1$<salt>$<key stream>`.
 *
 * Firebase derives a key from password and salt by scrypt, and encrypts the signer key of the project with it. The hash is the
 * XOR of the signer key and a key stream. This function removes the signer key by the same XOR. A sign-in compares key streams,
 * so the signer key need not be stored.
 * @param text `$fbscrypt$<salt>$<hash>`, or `$fbscrypt$v=1,n=…,r=…,p=1,ss=<salt separator>,sk=<signer key>$<salt>$<hash>`
 * @param usual the parameters for hashes without their own
 * @throws Error with the reason
 */
export function toStoredFirebaseHash(text: string, usual: FirebaseParameters | undefined): string {
  const [, , ...parts] = text.split('$')
  const own = parts.length === 3 ? readParameters(parts[0] ?? '') : undefined
  const [salt, hash] = parts.slice(-2).map(decodeBase64)
  if (parts.length < 2 || parts.length > 3 || !salt || !hash) throw new Error(IMPORT_TEXTS.firebaseForm)
  const parameters = own ?? usual
  if (!parameters) throw new Error(IMPORT_TEXTS.firebaseParametersMissing)
  const { signerKey, saltSeparator, rounds, memCost } = parameters
  if (hash.length !== signerKey.length) throw new Error(IMPORT_TEXTS.firebaseKeyForeign)
  const stream = hash.map((byte, i) => byte ^ (signerKey[i] ?? 0))
  const bytes = [Buffer.concat([salt, saltSeparator]), Buffer.from(stream)].map((part) => part.toString('base64url'))
  return `$firebase-scrypt$ln=${memCost},r=${rounds},p=1$${bytes.join('$')}`
}

/**
 * Parses the hash of a row: any hash that `parseStoredHash` accepts, or a Firebase hash with parameters, as supabase/auth stores
 * it. Returns `undefined` for any other text.
 */
export function parseHashOfRow(hash: string): StoredHash | undefined {
  if (!hash.startsWith('$fbscrypt$')) return parseStoredHash(hash)
  try {
    return parseStoredHash(toStoredFirebaseHash(hash, undefined))
  } catch {
    return undefined
  }
}

function readParameters(text: string): FirebaseParameters {
  const values = new Map(
    text.split(',').map((part) => [part.slice(0, part.indexOf('=')), part.slice(part.indexOf('=') + 1)]),
  )
  const read = (name: string) => values.get(name) ?? ''
  const [saltSeparator, signerKey] = [read('ss'), read('sk')].map(decodeBase64)
  const isKnown = read('v') === '1' && read('p') === '1' && /^\d{1,2}$/.test(read('n')) && /^\d{1,3}$/.test(read('r'))
  if (!isKnown || !saltSeparator || !signerKey) throw new Error(IMPORT_TEXTS.firebaseParametersForeign)
  return { signerKey, saltSeparator, rounds: Number(read('r')), memCost: Number(read('n')) }
}
