import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import type { PayloadKeys } from '@trestle/jobs/attempt.ts'

/** An AES-256 key for card data. Every encrypted value begins with the id of its key, as one byte. */
export interface VaultKey {
  /** 0 to 255. */
  readonly id: number
  /** 32 bytes. */
  readonly key: Buffer
}

/**
 * Reads `id:base64,id:base64…`. The first key encrypts, and all keys decrypt. Returns `undefined` unless the ids are different
 * numbers from 0 to 255 and every key has 32 bytes.
 */
export function readVaultKeys(text: string): readonly [VaultKey, ...VaultKey[]] | undefined {
  const keys = text.split(',').map(readVaultKey)
  const [first, ...others] = keys.flatMap((key) => key ?? [])
  const ids = new Set(keys.map((key) => key?.id))
  return first && others.length === keys.length - 1 && ids.size === keys.length ? [first, ...others] : undefined
}

function readVaultKey(text: string): VaultKey | undefined {
  const [, id, encoded] = /^\s*(\d{1,3}):([A-Za-z0-9+/_-]+={0,2})\s*$/.exec(text) ?? []
  if (id === undefined || encoded === undefined) return undefined
  const key = Buffer.from(encoded, 'base64')
  return Number(id) <= 255 && key.length === 32 ? { id: Number(id), key } : undefined
}

/** The purpose of a derived key. If a label changed, values encrypted under the old label could not be decrypted. */
export type KeyPurpose =
  | 'pan/seal'
  | 'pan/mac'
  | 'token/seal'
  | 'hint/seal'
  | 'frame/seal'
  | 'job/payload'
  | 'webhook/secret'

/** Derives a key of 32 bytes for one purpose. The derived key reveals nothing about other keys (RFC 5869, HKDF-SHA-256). */
export function deriveKey({ key }: Pick<VaultKey, 'key'>, purpose: KeyPurpose): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', key, Buffer.alloc(0), `trestle/payments/${purpose}`, 32)))
}

/** The keys from which the keys of jobs are derived. The first key encrypts, and all keys decrypt. */
export interface JobKeySources {
  readonly vaultKeys: readonly [VaultKey, ...VaultKey[]]
}

/** Returns the keys that encrypt jobs with a secret, such as the link of an invitation. */
export function createJobKeys({ vaultKeys: [first, ...others] }: JobKeySources): PayloadKeys {
  const derive = (from: Pick<VaultKey, 'key'>) => deriveKey(from, 'job/payload').export()
  return [derive(first), ...others.map(derive)]
}
