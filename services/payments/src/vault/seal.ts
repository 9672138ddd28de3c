import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto'

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
