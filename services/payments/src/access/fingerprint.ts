import { createHash, createHmac, type KeyObject } from 'node:crypto'

/** SHA-256 of a parsed body, whatever the order of its fields and the encoding that it came in. 32 bytes. */
export function fingerprintOf(body: unknown): Buffer {
  return createHash('sha256')
    .update(JSON.stringify(sorted(body) ?? null))
    .digest()
}

/**
 * The form in which an Idempotency-Key is stored: clients choose the key, and may put a card number into it. Keyed, because a
 * plain digest of a card number is soon guessed (reference: Idempotency-Key).
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
