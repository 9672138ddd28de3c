import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto'
import { deriveKey, type KeyPurpose, type VaultKey } from './vault-keys.ts'

/** Keys of one purpose by their id. The key `sealing` seals, all keys open. */
export interface SealingKeys {
  readonly sealing: number
  readonly keys: ReadonlyMap<number, KeyObject>
}

/** A text that cannot be opened: it was altered, belongs to another place, or its key is not configured. */
export class OpenError extends Error {
  override readonly name = 'OpenError'
}

const ALGORITHM = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * Seals a text. The result is the key's id (one byte), a random nonce, the ciphertext and the tag. `place` is authenticated
 * too, so the text opens for this place only. @see NIST SP 800-38D
 * @throws OpenError when no key has the id of the sealing key
 */
export function seal({ sealing, keys }: SealingKeys, text: string, place: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(ALGORITHM, keyOf(keys, sealing), nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(Buffer.from(place))
  return Buffer.concat([Buffer.of(sealing), nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
}

/** Opens a text that `seal` made for the same place. @throws OpenError for any other text, or when its key is gone */
export function openSealed({ keys }: SealingKeys, sealed: Buffer, place: string): string {
  if (sealed.length < 1 + NONCE_BYTES + TAG_BYTES) throw new OpenError('sealed text is too short')
  const nonce = sealed.subarray(1, 1 + NONCE_BYTES)
  const key = keyOf(keys, sealed.readUInt8(0))
  const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(place))
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
  const opened = decipher.update(sealed.subarray(1 + NONCE_BYTES, -TAG_BYTES))
  try {
    return Buffer.concat([opened, decipher.final()]).toString('utf8')
  } catch (cause) {
    throw new OpenError('sealed text was altered or belongs elsewhere', { cause })
  }
}

function keyOf(keys: ReadonlyMap<number, KeyObject>, id: number): KeyObject {
  const key = keys.get(id)
  if (key === undefined) throw new OpenError(`sealed with key ${id}, which is not configured`)
  return key
}

/** Gives values to clients as texts. A client cannot read or forge such a text, and it opens for one place only. */
export interface TextSeal {
  /** The sealed value, in base64. */
  readonly seal: (value: object, place: string) => string
  /** The value; undefined for a text that this service did not seal for the place. */
  readonly open: (text: string, place: string) => unknown
}

/** Texts are padded to a multiple of this length, so that the length of a sealed text reveals little. */
const BLOCK_LENGTH = 128
/** The pattern of sealed texts, which are base64, for schemas and the API document. */
export const SEALED_PATTERN = '^[A-Za-z0-9+/]+={0,2}$'
const BASE64 = new RegExp(SEALED_PATTERN)

/** A seal for one purpose, with keys derived from the keys of the vault. */
function createTextSeal(vaultKeys: readonly [VaultKey, ...VaultKey[]], purpose: KeyPurpose): TextSeal {
  const keys: SealingKeys = {
    sealing: vaultKeys[0].id,
    keys: new Map(vaultKeys.map((key) => [key.id, deriveKey(key, purpose)])),
  }
  return {
    seal: (value, place) => {
      const text = JSON.stringify(value)
      return seal(keys, text.padEnd(Math.ceil(text.length / BLOCK_LENGTH) * BLOCK_LENGTH), place).toString('base64')
    },
    open: (text, place): unknown => {
      if (!BASE64.test(text)) return undefined
      try {
        return JSON.parse(openSealed(keys, Buffer.from(text, 'base64'), place))
      } catch (error) {
        if (error instanceof OpenError) return undefined
        throw error
      }
    },
  }
}

/** The seals of what the checkout gives to clients and reads again later. */
export interface CheckoutSeals {
  /** Card numbers and security codes. */
  readonly tokens: TextSeal
  readonly hints: TextSeal
  /** States of the pages in frames. */
  readonly frames: TextSeal
}

/** Returns the three seals of the checkout. Each has a key of its own, so a text of one never opens as another. */
export function createCheckoutSeals(vaultKeys: readonly [VaultKey, ...VaultKey[]]): CheckoutSeals {
  return {
    tokens: createTextSeal(vaultKeys, 'token/seal'),
    hints: createTextSeal(vaultKeys, 'hint/seal'),
    frames: createTextSeal(vaultKeys, 'frame/seal'),
  }
}
