import { createHash, createHmac, type KeyObject } from 'node:crypto'

export interface Identity {
  readonly id: string
  readonly name: string | null
  readonly email: string | null
  readonly created: Date
}

/** The MAC under which a key is stored and found, 32 bytes (reference: API keys). */
export function keyMac(pepper: KeyObject, key: string): Buffer {
  return createHmac('sha256', pepper).update(key).digest()
}

/**
 * Derives the key that a request with an Idempotency-Key makes, a UUID of version 4. A repeat gets the same key, so the
 * service need not store it. Nobody can derive it without the caller's own key, which is neither in the database nor in
 * the settings.
 */
export function repeatedKey(pepper: KeyObject, callerKey: string, idempotencyKey: string): string {
  // A digest has a fixed length, so two different pairs of keys never make the same input.
  const caller = createHash('sha256').update(callerKey).digest()
  const bytes = createHmac('sha256', pepper).update('repeated key').update(caller).update(idempotencyKey).digest()
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  return bytes.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** The part of a key that may be shown: its last four characters. */
export function keyHint(key: string): string {
  return key.slice(-4)
}

/** The MAC of a key, and the hint by which people recognize the key. Nobody can call with the two. */
export interface StoredKey {
  readonly keyMac: Buffer
  readonly hint: string
}

/** Turns a key into what is stored of it. */
export function toStoredKey(pepper: KeyObject, key: string): StoredKey {
  return { keyMac: keyMac(pepper, key), hint: keyHint(key) }
}

export interface AppKey {
  readonly id: string
  /** The last four characters of the key. */
  readonly hint: string
  /** Null: not restricted. */
  readonly scopes: readonly string[] | null
  readonly expires: Date | null
  /** Written every minute, so it may lag behind. */
  readonly lastUsed: Date | null
  readonly created: Date
}
