import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import type { VaultKey } from './vault-keys.ts'

/** What a derived key is for. A label never changes: what it once protected could not be opened again. */
export type KeyPurpose =
  | 'pan/seal'
  | 'pan/mac'
  | 'token/seal'
  | 'hint/seal'
  | 'frame/seal'
  | 'job/payload'
  | 'webhook/secret'

/** A key of 32 bytes for one purpose. Keys of different purposes tell nothing of each other. @see RFC 5869 (HKDF-SHA-256) */
export function deriveKey({ key }: Pick<VaultKey, 'key'>, purpose: KeyPurpose): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', key, Buffer.alloc(0), `trestle/payments/${purpose}`, 32)))
}
