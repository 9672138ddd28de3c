import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto'
import { deriveKey, type KeyPurpose, type VaultKey } from './vault-keys.ts'

/** The keys of one purpose by their id. The key `encryptingId` encrypts, and all keys decrypt. */
export interface EncryptionKeys {
  readonly encryptingId: number
  readonly keys: ReadonlyMap<number, KeyObject>
}

/** An error for a text that cannot be decrypted: it was altered, belongs to another place, or its key is not configured. */
export class DecryptionError extends Error {
  override readonly name = 'DecryptionError'
}

const ALGORITHM = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * Encrypts a text. The result is the key's id (one byte), a random nonce, the ciphertext and the authentication tag. The tag also
 * covers `place`, so the text can be decrypted only for the same place. @see NIST SP 800-38D
 * @throws DecryptionError if no key has the id of the encrypting key
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

/** Decrypts a text of the same place. @throws DecryptionError for any other text, or if its key is missing */
export function decrypt({ keys }: EncryptionKeys, encrypted: Buffer, place: string): string {
  if (encrypted.length < 1 + NONCE_BYTES + TAG_BYTES) throw new DecryptionError('encrypted text is too short')
  const nonce = encrypted.subarray(1, 1 + NONCE_BYTES)
  const key = keyOf(keys, encrypted.readUInt8(0))
  const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(place))
  decipher.setAuthTag(encrypted.subarray(-TAG_BYTES))
  const opened = decipher.update(encrypted.subarray(1 + NONCE_BYTES, -TAG_BYTES))
  try {
    return Buffer.concat([opened, decipher.final()]).toString('utf8')
  } catch (cause) {
    throw new DecryptionError('encrypted text was altered or belongs elsewhere', { cause })
  }
}

function keyOf(keys: ReadonlyMap<number, KeyObject>, id: number): KeyObject {
  const key = keys.get(id)
  if (key === undefined) throw new DecryptionError(`encrypted with key ${id}, which is not configured`)
  return key
}

/** Encrypts values into texts for clients, who cannot read or forge them. A text is valid only for one place. */
export interface TextCipher {
  /** Returns the encrypted value in base64. */
  readonly encrypt: (value: object, place: string) => string
  /** Returns the value. Returns `undefined` if this service did not encrypt the text for this place. */
  readonly decrypt: (text: string, place: string) => unknown
}

/** Texts are padded to a multiple of this length, so that the length of an encrypted text reveals little. */
const BLOCK_LENGTH = 128
/** The pattern of encrypted texts in base64, for schemas and the OpenAPI document. */
export const CIPHERTEXT_PATTERN = '^[A-Za-z0-9+/]+={0,2}$'
const BASE64 = new RegExp(CIPHERTEXT_PATTERN)

/** Returns a cipher for one purpose. Its keys are derived from the keys of the vault. */
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

/** The ciphers for texts that the checkout gives to clients and later reads back. */
export interface CheckoutCiphers {
  /** Encrypts card numbers and security codes. */
  readonly tokens: TextCipher
  readonly hints: TextCipher
  /** Encrypts the states of pages in frames. */
  readonly frames: TextCipher
}

/** Returns the three ciphers of the checkout. Each has its own key, so a text of one cipher cannot be decrypted by another. */
export function createCheckoutCiphers(vaultKeys: readonly [VaultKey, ...VaultKey[]]): CheckoutCiphers {
  return {
    tokens: createTextCipher(vaultKeys, 'token/seal'),
    hints: createTextCipher(vaultKeys, 'hint/seal'),
    frames: createTextCipher(vaultKeys, 'frame/seal'),
  }
}
