import { createCipheriv, createDecipheriv, hash, hkdfSync, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'

/** Gives so many random bytes. Every secret of the service is made of them, so that a test can choose it. */
export type RandomBytes = (size: number) => Buffer

/** A secret as a jsonb column holds it. */
export interface EncryptedSecret {
  /** The key that opens it. */
  readonly key_id: string
  readonly alg: 'aes-gcm-hkdf'
  /** 12 bytes, base64url. */
  readonly nonce: string
  /** The ciphertext and its 16-byte tag, base64url. */
  readonly data: string
}

/** The encryption keys of the service and a source of nonces, with which secrets are encrypted. */
export interface Encryption {
  readonly encryptionKeys: EncryptionKeys
  readonly randomBytes: RandomBytes
}

interface EncryptionKey {
  readonly id: string
  readonly key: Buffer
}

/** The key that encrypts, and all that open. */
export interface EncryptionKeys {
  readonly current: EncryptionKey
  readonly byId: ReadonlyMap<string, EncryptionKey>
}

const KEY_BYTES = 32
/** Random nonces of this size never meet twice under the key of one row. */
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** The key of SECURITY_DATABASE_ENCRYPTION_KEY when that setting is missing. */
export function deriveEncryptionKey(jwtSecret: string): Buffer {
  return Buffer.from(hkdfSync('sha256', jwtSecret, '', 'db-encryption-v1', KEY_BYTES))
}

/** Creates the keys with their ids, which reveal nothing about the keys. Each has 32 bytes. */
export function createEncryptionKeys(current: Buffer, older: readonly Buffer[]): EncryptionKeys {
  const identify = (key: Buffer): EncryptionKey => ({ id: hash('sha256', key, 'hex').slice(0, 16), key })
  const keys = [current, ...older].map(identify)
  return { current: identify(current), byId: new Map(keys.map((key) => [key.id, key])) }
}

/**
 * Encrypts a secret for one row (reference: Secrets at rest). Each row has a key of its own, so an encrypted value that is
 * copied to another row does not open there.
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

/** Encrypts a secret that a row may lack: null without a secret. */
export function encryptOptional(
  encryption: Encryption,
  rowId: string,
  secret: string | undefined,
): EncryptedSecret | null {
  return secret === undefined ? null : encryptSecret(encryption, rowId, secret)
}

/** @throws Error when no key of this service encrypted the secret, when it was changed, or when it belongs to another row */
export function decryptSecret(keys: EncryptionKeys, rowId: string, encrypted: EncryptedSecret): string {
  const known = keys.byId.get(encrypted.key_id)
  if (!known) throw new Error(`no encryption key ${encrypted.key_id}`)
  return decrypt(rowKey(known.key, rowId), encrypted)
}

/** The settings of supabase/auth choose the name of the key, and the text may have the other alphabet of base64. */
const UpstreamSecret = z.object({ alg: z.literal('aes-gcm-hkdf'), nonce: z.base64(), data: z.base64() })

/**
 * Reads a secret of a column of supabase/auth: a text, or a secret that supabase/auth has encrypted for the row
 * (GOTRUE_SECURITY_DB_ENCRYPTION_ENCRYPT). Names of keys are not compared: each key of the service is tried.
 * @returns undefined where the text is encrypted and none of the keys opens it
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

/** Encrypts a secret as supabase/auth does, by the current key, which its settings call `keyId`. */
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

/** Reads both alphabets of base64. */
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
 * Whether two secrets are the same, as texts or as bytes. Compares secrets of one length in constant time, so that the time of an
 * answer reveals no part of either.
 */
export function equalSecrets(left: string | Uint8Array, right: string | Uint8Array): boolean {
  const [a, b] = [toBytes(left), toBytes(right)]
  return a.length === b.length && timingSafeEqual(a, b)
}

function toBytes(secret: string | Uint8Array): Uint8Array {
  return typeof secret === 'string' ? Buffer.from(secret) : secret
}

/** Keys of the process, one for each use, derived from the encryption keys of the database. */
export interface ServerKeys {
  /** For HMACs of one-time codes and of the identifiers in limits (reference: Secrets at rest). */
  readonly hmac: Buffer
  /** This key and the earlier ones, since a code may be older than the current encryption key. */
  readonly hmacs: readonly Buffer[]
  /** For encrypted payloads in the job queue. The first key encrypts, every key opens. */
  readonly jobs: readonly [Buffer, ...Buffer[]]
}

/**
 * Derives the server keys from each encryption key (HKDF). Keys of older encryption keys verify and open, but make nothing new.
 */
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
