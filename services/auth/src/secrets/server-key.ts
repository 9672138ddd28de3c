import { hkdfSync } from 'node:crypto'
import type { EncryptionKeys } from './sealed-secret.ts'

const KEY_BYTES = 32

/** Keys of the process, one for each use, derived from the encryption keys of the database. */
export interface ServerKeys {
  /** For HMACs of one-time codes and of the identifiers in limits (reference: Secrets at rest). */
  readonly hmac: Buffer
  /** This key and the earlier ones, since a code may be older than the current encryption key. */
  readonly hmacs: readonly Buffer[]
  /** For sealed payloads in the job queue. The first key seals, every key opens. */
  readonly jobs: readonly [Buffer, ...Buffer[]]
}

/**
 * Derives the server keys from each encryption key (HKDF). Keys of older encryption keys verify and open, but make nothing new.
 */
export function deriveServerKeys({ current, byId }: EncryptionKeys): ServerKeys {
  const older = [...byId.values()].filter(({ id }) => id !== current.id)
  const derive = (info: string, { key }: { readonly key: Buffer }): Buffer =>
    Buffer.from(hkdfSync('sha256', key, '', info, KEY_BYTES))
  const hmac = derive('server-hmac-v1', current)
  return {
    hmac,
    hmacs: [hmac, ...older.map((key) => derive('server-hmac-v1', key))],
    jobs: [derive('job-payload-v1', current), ...older.map((key) => derive('job-payload-v1', key))],
  }
}
