import { IMPORT_TEXTS } from '../field-errors.ts'
import { passwordHashTooLong, passwordHashUnsupported } from '../request-errors.ts'
import type { RandomBytes } from '../secrets/encrypted-secret.ts'

/** A stored password hash that this service can verify passwords with, parsed. */
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

/** The cost of an argon2 hash, under the names of its PHC string. */
interface Argon2Cost {
  /** KiB. */
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
  /** r, in pieces of 128 bytes. */
  readonly blockSize: number
  /** p. */
  readonly parallelization: number
  readonly salt: Uint8Array
  /** The derived key. For firebase-scrypt, the key stream that the derived key makes. */
  readonly key: Uint8Array
}

/** The work of one hash that this service makes: OWASP's first choice for argon2id. */
export const ARGON2_COST: Argon2Cost = { m: 19_456, t: 2, p: 1 }

/** The algorithms of the hashes that this service makes. */
export const PASSWORD_ALGORITHMS = ['argon2id', 'bcrypt'] as const

/** The algorithm of new hashes (PASSWORD_HASH). */
export type PasswordAlgorithm = (typeof PASSWORD_ALGORITHMS)[number]

/** The work of a bcrypt hash that this service makes, as supabase/auth makes them. */
export const BCRYPT_COST = 10

const BCRYPT = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/
const PBKDF2_DIGESTS = new Map([
  ['pbkdf2', 'sha1'],
  ['pbkdf2-sha1', 'sha1'],
  ['pbkdf2-sha256', 'sha256'],
  ['pbkdf2-sha512', 'sha512'],
])

// A hash that costs more than about a second, or 256 MiB, would let a sign-in stop the service.
const ARGON2_MEMORY_KIB_MAX = 2 ** 18
const ARGON2_WORK_MAX = 2 ** 20
const BCRYPT_COST_MIN = 4
const BCRYPT_COST_MAX = 14
const SCRYPT_MEMORY_MAX = 2 ** 28
const SCRYPT_WORK_MAX = 2 ** 29
const PBKDF2_ITERATIONS_MAX = 3_000_000
/** A shorter salt or key comes from a faulty program, or is an attempt to make any password match. */
const SALT_BYTES_MIN = 8
const KEY_BYTES_MIN = 16
const BYTES_MAX = 128

/** The size of the column of stored hashes. */
export const HASH_LENGTH_MAX = 255

/**
 * Parses a hash in PHC string form or in the form of bcrypt. Undefined when the form is unknown or damaged, or when
 * verifying it would take more work than a sign-in may cost.
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

/** The forms that the admin API takes. `users import` takes every form that can be parsed. */
const ACCEPTED: ReadonlySet<StoredHash['alg'] | undefined> = new Set(['argon2id', 'argon2i', 'bcrypt'])

/** The hash of a password that was set elsewhere: argon2id, argon2i or bcrypt, at a cost that a sign-in may have. */
export function requireAcceptedHash(hash: string): string {
  if (hash.length > HASH_LENGTH_MAX) throw passwordHashTooLong({ max: HASH_LENGTH_MAX })
  if (ACCEPTED.has(parseStoredHash(hash)?.alg)) return hash
  throw passwordHashUnsupported()
}

/** Whether a hash has another algorithm or another cost than the hashes that this service makes. */
export function isOutdated(stored: StoredHash, algorithm: PasswordAlgorithm = 'argon2id'): boolean {
  if (stored.alg !== algorithm) return true
  if (stored.alg === 'bcrypt') return Number(BCRYPT.exec(stored.hash)?.[1]) !== BCRYPT_COST
  const { m, t, p } = stored.cost
  return m !== ARGON2_COST.m || t !== ARGON2_COST.t || p !== ARGON2_COST.p
}

/**
 * The hash of a password that nobody knows, not even this process: random bytes stand in place of salt and digest. Making it
 * takes no work. Its user has a password, but cannot sign in with it until they set their own.
 */
export function hashOfUnknownPassword(randomBytes: RandomBytes, algorithm: PasswordAlgorithm): string {
  if (algorithm === 'bcrypt') return `$2a$${BCRYPT_COST}$${randomBcrypt(randomBytes)}`
  const { m, t, p } = ARGON2_COST
  const random = (bytes: number) => randomBytes(bytes).toString('base64').replace(/=+$/, '')
  return `$argon2id$v=19$m=${m},t=${t},p=${p}$${random(16)}$${random(32)}`
}

const BCRYPT_LETTERS = './ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const BCRYPT_LENGTH = 53
/** The place of the last letter of the salt, of which only the first two bits count. */
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
  // The argon2 library parses the text again and takes no other spelling of the same bytes.
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

/** `i=<iterations>[,l=<bytes>]` as in PHC strings, or the bare number of Python's passlib. */
function parsePbkdf2(digest: string, [parameters = '', ...bytes]: readonly string[]): StoredHash | undefined {
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

function toSaltAndKey(parts: readonly string[]): Pick<ScryptHash, 'salt' | 'key'> | undefined {
  const [salt, key, ...rest] = parts.map(decodeBase64)
  if (!salt || !key || rest.length > 0) return undefined
  const fits = salt.length >= SALT_BYTES_MIN && key.length >= KEY_BYTES_MIN
  // Copies: a small Buffer is part of a pool, and the whole pool would go to the hash thread with it.
  return fits && salt.length <= BYTES_MAX && key.length <= BYTES_MAX
    ? { salt: new Uint8Array(salt), key: new Uint8Array(key) }
    : undefined
}

/** The bytes of base64 in any of its alphabets (the alphabet of passlib has `.` for `+`); undefined for other text. */
export function decodeBase64(text: string): Buffer | undefined {
  if (!/^[A-Za-z0-9+/._-]+={0,2}$/.test(text)) return undefined
  const digits = text.replace(/=+$/, '')
  return digits.length % 4 === 1 ? undefined : Buffer.from(digits.replaceAll('.', '+'), 'base64')
}

function isCanonical(text: string): boolean {
  return Buffer.from(text, 'base64').toString('base64').replace(/=+$/, '') === text
}

/** The parameters that a Firebase project gives beside its users' hashes ("Password hash parameters" in its console). */
export interface FirebaseParameters {
  readonly signerKey: Buffer
  readonly saltSeparator: Buffer
  /** scrypt's block size. */
  readonly rounds: number
  /** log2 of scrypt's cost. */
  readonly memCost: number
}

/**
 * Turns a hash of Firebase into the form `$firebase-scrypt$ln=…,r=…,p=1$<salt>$<key stream>` that is stored.
 *
 * Firebase derives a key from password and salt by scrypt, and encrypts the project's signer key with it. The hash is the XOR of
 * the signer key and a key stream. This function removes the signer key by the same XOR. A sign-in compares key streams, so the
 * signer key need not be stored.
 * @param text `$fbscrypt$<salt>$<hash>`, or `$fbscrypt$v=1,n=…,r=…,p=1,ss=<salt separator>,sk=<signer key>$<salt>$<hash>`
 * @param usual the parameters of hashes that do not carry their own
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
 * Parses the hash of a row: a hash that `parseStoredHash` knows, or a hash of Firebase with its parameters, as supabase/auth
 * stores it. Undefined for a text that `parseStoredHash` returns undefined for.
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
