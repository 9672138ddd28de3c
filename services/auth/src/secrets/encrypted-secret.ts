import { createCipheriv, createDecipheriv, hash, hkdfSync, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'

/** Returns `size` random bytes. Every secret of the service is derived from them, so a test can choose the secrets. */
export type RandomBytes = (size: number) => Buffer

/** A secret as stored in a `jsonb` column. */
export interface EncryptedSecret {
  /** The id of the key that decrypts the secret. */
  readonly key_id: string
  readonly alg: 'aes-gcm-hkdf'
  /** 12 bytes in base64url. */
  readonly nonce: string
  /** The ciphertext and its 16-byte tag, in base64url. */
  readonly data: string
}

/** The dependencies for encrypting secrets: the keys, and a source of nonces. */
export interface Encryption {
  readonly encryptionKeys: EncryptionKeys
  readonly randomBytes: RandomBytes
}

interface EncryptionKey {
  readonly id: string
  readonly key: Buffer
}

/** The key that encrypts, and all keys that decrypt. */
export interface EncryptionKeys {
  readonly current: EncryptionKey
  readonly byId: ReadonlyMap<string, EncryptionKey>
}

const KEY_BYTES = 32
/** Random nonces of this size practically never repeat under the key of one row. */
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Derives the encryption key if SECURITY_DATABASE_ENCRYPTION_KEY is not set. */
export function deriveEncryptionKey(jwtSecret: string): Buffer {
  return Buffer.from(hkdfSync('sha256', jwtSecret, '', 'db-encryption-v1', KEY_BYTES))
}

/** Creates keys of 32 bytes with their ids. The ids reveal nothing about the keys. */
export function createEncryptionKeys(current: Buffer, older: readonly Buffer[]): EncryptionKeys {
  const identify = (key: Buffer): EncryptionKey => ({ id: hash('sha256', key, 'hex').slice(0, 16), key })
  const keys = [current, ...older].map(identify)
  return { current: identify(current), byId: new Map(keys.map((key) => [key.id, key])) }
}

/**
 * Encrypts a secret for one row (reference: Secrets at rest). Each row has its own key, so an encrypted value that is copied to
 * another row cannot be decrypted there.
 * @param rowId the row's primary key
 */
export function encryptSecret(
  { encryptionKeys, randomBytes }: Encryption,
  rowId: string,
  secret: string,
): EncryptedSecret {
  const { id, key } = encryptionKeys.current
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', rowKey(key, rowId), nonce)
  const data = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()])
  return { key_id: id, alg: 'aes-gcm-hkdf', nonce: nonce.toString('base64url'), data: data.toString('base64url') }
}

/** Encrypts an optional secret. Returns `null` if there is no secret. */
export function encryptOptional(
  encryption: Encryption,
  rowId: string,
  secret: string | undefined,
): EncryptedSecret | null {
  return secret === undefined ? null : encryptSecret(encryption, rowId, secret)
}

/** @throws Error if no key of this service encrypted the secret, if it was changed, or if it belongs to another row */
export function decryptSecret(keys: EncryptionKeys, rowId: string, encrypted: EncryptedSecret): string {
  const known = keys.byId.get(encrypted.key_id)
  if (!known) throw new Error(`no encryption key ${encrypted.key_id}`)
  return decrypt(rowKey(known.key, rowId), encrypted)
}

/** The name of the key depends on the settings of supabase/auth. The text may use either base64 alphabet. */
const UpstreamSecret = z.object({ alg: z.literal('aes-gcm-hkdf'), nonce: z.base64(), data: z.base64() })

/**
 * Reads a secret in a column of supabase/auth: plain text, or a secret that supabase/auth has encrypted for the row
 * (GOTRUE_SECURITY_DB_ENCRYPTION_ENCRYPT). Ignores the name of the key and tries each key of the service.
 * @returns `undefined` if the secret is encrypted and no key decrypts it
 */
export function readUpstreamSecret({ byId }: EncryptionKeys, rowId: string, text: string): string | undefined {
  if (!text.startsWith('{')) return text
  const { data: encrypted } = UpstreamSecret.safeParse(parseJson(text))
  if (encrypted === undefined) return undefined
  for (const { key } of byId.values()) {
    try {
      return decrypt(rowKey(key, rowId), encrypted)
    } catch {
      // This key has not encrypted the secret: try the next one.
    }
  }
  return undefined
}

/** Encrypts a secret as supabase/auth does, with the current key. `keyId` is the name of that key in supabase/auth. */
export function encryptForUpstream(
  encryption: Encryption,
  rowId: string,
  { keyId, secret }: { readonly keyId: string; readonly secret: string },
): string {
  const { alg, data, nonce } = encryptSecret(encryption, rowId, secret)
  const inBase64 = (text: string) => Buffer.from(text, 'base64url').toString('base64')
  return JSON.stringify({ key_id: keyId, alg, data: inBase64(data), nonce: inBase64(nonce) })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Decrypts data in either base64 alphabet. */
function decrypt(key: Buffer, { data: text, nonce }: Pick<EncryptedSecret, 'data' | 'nonce'>): string {
  const data = Buffer.from(text, 'base64url')
  const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(nonce, 'base64url'), { authTagLength: TAG_BYTES })
  decipher.setAuthTag(data.subarray(-TAG_BYTES))
  return Buffer.concat([decipher.update(data.subarray(0, -TAG_BYTES)), decipher.final()]).toString('utf8')
}

function rowKey(key: Buffer, rowId: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', rowId, KEY_BYTES))
}

/**
 * Compares two secrets, as strings or bytes. Secrets of equal length are compared in constant time, so that the duration of an
 * answer reveals nothing about them.
 */
export function equalSecrets(left: string | Uint8Array, right: string | Uint8Array): boolean {
  const [a, b] = [toBytes(left), toBytes(right)]
  return a.length === b.length && timingSafeEqual(a, b)
}

function toBytes(secret: string | Uint8Array): Uint8Array {
  return typeof secret === 'string' ? Buffer.from(secret) : secret
}

/** The keys of the process, one for each use, derived from the encryption keys of the database. */
export interface ServerKeys {
  /** The key for HMACs of one-time codes and of identifiers in limits (reference: Secrets at rest). */
  readonly hmac: Buffer
  /** This key and earlier keys, because a code may be older than the current encryption key. */
  readonly hmacs: readonly Buffer[]
  /** The keys for encrypted payloads in the job queue. The first key encrypts, every key decrypts. */
  readonly jobs: readonly [Buffer, ...Buffer[]]
}

/** Derives the server keys from each encryption key (HKDF). Keys from older encryption keys only verify and decrypt. */
export function deriveServerKeys({ current, byId }: EncryptionKeys): ServerKeys {
  const older = [...byId.values()].filter(({ id }) => id !== current.id)
  const derive = (info: string, { key }: { readonly key: Buffer }): Buffer =>
    Buffer.from(hkdfSync('sha256', key, '', info, 32))
  const hmac = derive('server-hmac-v1', current)
  return {
    hmac,
    hmacs: [hmac, ...older.map((key) => derive('server-hmac-v1', key))],
    jobs: [derive('job-payload-v1', current), ...older.map((key) => derive('job-payload-v1', key))],
  }
}
