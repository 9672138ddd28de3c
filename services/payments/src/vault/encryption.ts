import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto'
import { deriveKey, type KeyPurpose, type VaultKey } from './vault-keys.ts'

/** Keys of one purpose by their id. The key `encryptingId` encrypts, all keys decrypt. */
export interface EncryptionKeys {
  readonly encryptingId: number
  readonly keys: ReadonlyMap<number, KeyObject>
}

/** A text that cannot be opened: it was altered, belongs to another place, or its key is not configured. */
export class DecryptionError extends Error {
  override readonly name = 'DecryptionError'
}

const ALGORITHM = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * Encrypts a text. The result is the key's id (one byte), a random nonce, the ciphertext and the tag. `place` is authenticated
 * too, so the text opens for this place only. @see NIST SP 800-38D
 * @throws DecryptionError when no key has the id of the encrypting key
 */
export function encrypt({ encryptingId, keys }: EncryptionKeys, text: string, place: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(ALGORITHM, keyOf(keys, encryptingId), nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(Buffer.from(place))
  return Buffer.concat([
    Buffer.of(encryptingId),
    nonce,
    cipher.update(text, 'utf8'),
    cipher.final(),
    cipher.getAuthTag(),
  ])
}

/** Decrypts a text that `encrypt` made for the same place. @throws DecryptionError for any other text, or when its key is gone */
export function decrypt({ keys }: EncryptionKeys, encrypted: Buffer, place: string): string {
  if (encrypted.length < 1 + NONCE_BYTES + TAG_BYTES) throw new DecryptionError('sealed text is too short')
  const nonce = encrypted.subarray(1, 1 + NONCE_BYTES)
  const key = keyOf(keys, encrypted.readUInt8(0))
  const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(place))
  decipher.setAuthTag(encrypted.subarray(-TAG_BYTES))
  const opened = decipher.update(encrypted.subarray(1 + NONCE_BYTES, -TAG_BYTES))
  try {
    return Buffer.concat([opened, decipher.final()]).toString('utf8')
  } catch (cause) {
    throw new DecryptionError('sealed text was altered or belongs elsewhere', { cause })
  }
}

function keyOf(keys: ReadonlyMap<number, KeyObject>, id: number): KeyObject {
  const key = keys.get(id)
  if (key === undefined) throw new DecryptionError(`sealed with key ${id}, which is not configured`)
  return key
}

/** Gives values to clients as texts. A client cannot read or forge such a text, and it opens for one place only. */
export interface TextCipher {
  /** The encrypted value, in base64. */
  readonly encrypt: (value: object, place: string) => string
  /** The value; undefined for a text that this service did not encrypt for the place. */
  readonly decrypt: (text: string, place: string) => unknown
}

/** Texts are padded to a multiple of this length, so that the length of an encrypted text reveals little. */
const BLOCK_LENGTH = 128
/** The pattern of encrypted texts, which are base64, for schemas and the API document. */
export const CIPHERTEXT_PATTERN = '^[A-Za-z0-9+/]+={0,2}$'
const BASE64 = new RegExp(CIPHERTEXT_PATTERN)

/** A cipher for one purpose, with keys derived from the keys of the vault. */
function createTextCipher(vaultKeys: readonly [VaultKey, ...VaultKey[]], purpose: KeyPurpose): TextCipher {
  const keys: EncryptionKeys = {
    encryptingId: vaultKeys[0].id,
    keys: new Map(vaultKeys.map((key) => [key.id, deriveKey(key, purpose)])),
  }
  return {
    encrypt: (value, place) => {
      const text = JSON.stringify(value)
      return encrypt(keys, text.padEnd(Math.ceil(text.length / BLOCK_LENGTH) * BLOCK_LENGTH), place).toString('base64')
    },
    decrypt: (text, place): unknown => {
      if (!BASE64.test(text)) return undefined
      try {
        return JSON.parse(decrypt(keys, Buffer.from(text, 'base64'), place))
      } catch (error) {
        if (error instanceof DecryptionError) return undefined
        throw error
      }
    },
  }
}

/** The ciphers of the texts that the checkout gives to clients and reads again later. */
export interface CheckoutCiphers {
  /** Card numbers and security codes. */
  readonly tokens: TextCipher
  readonly hints: TextCipher
  /** States of the pages in frames. */
  readonly frames: TextCipher
}

/** Returns the three ciphers of the checkout. Each has a key of its own, so a text of one never opens as another. */
export function createCheckoutCiphers(vaultKeys: readonly [VaultKey, ...VaultKey[]]): CheckoutCiphers {
  return {
    tokens: createTextCipher(vaultKeys, 'token/seal'),
    hints: createTextCipher(vaultKeys, 'hint/seal'),
    frames: createTextCipher(vaultKeys, 'frame/seal'),
  }
}
