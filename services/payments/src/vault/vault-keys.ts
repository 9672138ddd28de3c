import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import type { SealKeys } from '@trestle/jobs/seal.ts'

/** A key that seals card data (AES-256). Its id is the first byte of everything it seals. */
export interface VaultKey {
  /** 0 to 255. */
  readonly id: number
  /** 32 bytes. */
  readonly key: Buffer
}

/**
 * Reads `id:base64,id:base64…`: the first key seals, all of them open. Undefined unless every id is a number from 0 to 255,
 * given once, and every key has 32 bytes.
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

export interface JobKeySources {
  /** The first seals, all of them open. */
  readonly vaultKeys: readonly [VaultKey, ...VaultKey[]]
  /** Opens jobs from before the keys of the vault sealed them. */
  readonly pepper: Buffer
}

/** The keys of jobs that carry a secret, such as the link of an invitation. */
export function createJobKeys({ vaultKeys: [first, ...others], pepper }: JobKeySources): SealKeys {
  const derive = (from: Pick<VaultKey, 'key'>) => deriveKey(from, 'job/payload').export()
  return [derive(first), ...others.map(derive), derive({ key: pepper })]
}
