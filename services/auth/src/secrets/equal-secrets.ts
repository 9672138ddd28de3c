import { timingSafeEqual } from 'node:crypto'

/**
 * Whether two secrets are the same, as texts or as bytes. Compares secrets of one length in constant time, so that an answer's
 * time tells no part of either.
 */
export function equalSecrets(left: string | Uint8Array, right: string | Uint8Array): boolean {
  const [a, b] = [toBytes(left), toBytes(right)]
  return a.length === b.length && timingSafeEqual(a, b)
}

function toBytes(secret: string | Uint8Array): Uint8Array {
  return typeof secret === 'string' ? Buffer.from(secret) : secret
}
