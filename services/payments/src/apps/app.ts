import { createHash, createHmac, type KeyObject } from 'node:crypto'
import { z } from 'zod'

export interface Identity {
  readonly id: string
  readonly name: string | null
  readonly email: string | null
  readonly created: Date
}

/** Returns the MAC under which a key is stored and looked up, in 32 bytes (reference: API keys). */
export function keyMac(pepper: KeyObject, key: string): Buffer {
  return createHmac('sha256', pepper).update(key).digest()
}

/**
 * Derives the new key for a request with an Idempotency-Key, a UUID of version 4. An idempotent request gets the same key, so the
 * service need not store the key. Only someone with the caller's own key can derive the new key. The caller's key is neither in
 * the database nor in the settings.
 */
export function repeatedKey(pepper: KeyObject, callerKey: string, idempotencyKey: string): string {
  // Hash the caller's key first. A digest has a fixed length, so two different pairs of keys never result in the same input.
  const caller = createHash('sha256').update(callerKey).digest()
  const bytes = createHmac('sha256', pepper).update('repeated key').update(caller).update(idempotencyKey).digest()
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  return bytes.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** Returns the part of a key that may be shown: its last four characters. */
export function keyHint(key: string): string {
  return key.slice(-4)
}

/** The MAC of a key and the hint by which people recognize the key. Neither of them can authenticate a call. */
export interface StoredKey {
  readonly keyMac: Buffer
  readonly hint: string
}

export function toStoredKey(pepper: KeyObject, key: string): StoredKey {
  return { keyMac: keyMac(pepper, key), hint: keyHint(key) }
}

export interface AppKey {
  readonly id: string
  /** The last four characters of the key. */
  readonly hint: string
  /** `null` if the key is not restricted. */
  readonly scopes: readonly string[] | null
  readonly expires: Date | null
  /** The service writes this time every minute, so it may be older than the last use. */
  readonly lastUsed: Date | null
  readonly created: Date
}

/** A new app with its key. No other answer contains the key. */
export const CreatedAppView = z.object({ id: z.string(), name: z.string().optional(), key: z.string() })

/** The caller: an app, or a user with an email address (reference: Other objects). */
export const IdentityView = z.object({
  id: z.string(),
  name: z.string().optional(),
  email: z.string().optional(),
  created: z.iso.datetime(),
})

export function viewCreatedApp({ id, name, key }: CreatedApp): z.infer<typeof CreatedAppView> {
  return { id, ...(name === undefined ? {} : { name }), key }
}

/** Converts the caller's identity to JSON. An app has no email address. */
export function viewIdentity({ id, name, email, created }: Identity): z.infer<typeof IdentityView> {
  return {
    id,
    ...(name === null ? {} : { name }),
    ...(email === null ? {} : { email }),
    created: created.toISOString(),
  }
}

export interface CreatedApp {
  readonly id: string
  readonly name: string | undefined
  readonly key: string
}

/** A new key. No other answer contains it. */
export const CreatedKeyView = z.object({ id: z.string(), key: z.string(), created: z.iso.datetime() })

export const AppKeyView = z
  .object({
    id: z.string(),
    keyHint: z.string(),
    scopes: z.array(z.string()).optional(),
    expires: z.iso.datetime().optional(),
    lastUsed: z.iso.datetime().optional(),
    created: z.iso.datetime(),
  })
  .meta({ id: 'Key' })

export function viewAppKey({ id, hint, scopes, expires, lastUsed, created }: AppKey): z.infer<typeof AppKeyView> {
  return {
    id,
    keyHint: hint,
    ...(scopes === null ? {} : { scopes: [...scopes] }),
    ...(expires === null ? {} : { expires: expires.toISOString() }),
    ...(lastUsed === null ? {} : { lastUsed: lastUsed.toISOString() }),
    created: created.toISOString(),
  }
}
