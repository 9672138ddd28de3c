import { createHash, createHmac, type KeyObject } from 'node:crypto'

/** The SHA-256 of a parsed body, in 32 bytes. The order of the fields and the encoding of the body do not change the result. */
export function fingerprintOf(body: unknown): Buffer {
  return createHash('sha256')
    .update(JSON.stringify(sorted(body) ?? null))
    .digest()
}

/**
 * Returns the digest under which an Idempotency-Key is stored. Clients choose the key and may put a card number into it. The
 * digest is an HMAC, because an attacker could guess the card number from a plain hash (reference: Idempotency-Key).
 */
export function keyDigest(pepper: KeyObject, key: string): string {
  return createHmac('sha256', pepper).update('idempotency key').update(key).digest('base64url')
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([, field]) => field !== undefined)
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, field]) => [key, sorted(field)]))
}
