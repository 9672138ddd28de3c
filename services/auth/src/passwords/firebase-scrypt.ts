import { IMPORT_TEXTS } from '../field-errors.ts'
import { decodeBase64, parseStoredHash, type StoredHash } from './stored-hash.ts'

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
 * Firebase derives a key from password and salt by scrypt, and encrypts the project's signer key with it: the hash is the XOR of
 * the signer key and a key stream. This function removes the signer key by the same XOR. A sign-in compares key streams, so the
 * signer key need not be stored.
 * @param text `$fbscrypt$<salt>$<hash>`, or `$fbscrypt$v=1,n=…,r=…,p=1,ss=<salt separator>,sk=<signer key>$<salt>$<hash>`
 * @param usual the parameters of hashes that do not carry their own
 * @throws Error with what is wrong
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
