import { createHash, createHmac, type KeyObject } from 'node:crypto'

/** Who calls: an app, or a person, who has an e-mail address. */
export interface Identity {
  readonly id: string
  readonly name: string | null
  readonly email: string | null
  readonly created: Date
}

/** The keyed digest under which a key is stored and found. 32 bytes (reference: API keys). */
export function keyMac(pepper: KeyObject, key: string): Buffer {
  return createHmac('sha256', pepper).update(key).digest()
}

/**
 * The key that a request under an Idempotency-Key makes, the same each time that it is sent: nothing has to be kept of it. It is
 * a UUID of version 4 that nobody can tell without the caller's own key, which neither the database nor the settings hold.
 */
export function repeatedKey(pepper: KeyObject, callerKey: string, idempotencyKey: string): string {
  // A digest, whose length is fixed: no two pairs of keys are the same text.
  const caller = createHash('sha256').update(callerKey).digest()
  const bytes = createHmac('sha256', pepper).update('repeated key').update(caller).update(idempotencyKey).digest()
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  return bytes.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** What may be shown of a key: its last four characters. */
export function keyHint(key: string): string {
  return key.slice(-4)
}

/** A key of an app, without the key. */
export interface AppKey {
  readonly id: string
  /** Its last four characters. */
  readonly hint: string
  /** Null: no restriction. */
  readonly scopes: readonly string[] | null
  readonly expires: Date | null
  /** Some minutes old at most. */
  readonly lastUsed: Date | null
  readonly created: Date
}
