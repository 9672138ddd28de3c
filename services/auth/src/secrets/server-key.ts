import { hkdfSync } from 'node:crypto'
import type { EncryptionKeys } from './sealed-secret.ts'

const KEY_BYTES = 32

/** Keys of the process that are made from the encryption keys of the database, one per use. */
export interface ServerKeys {
  /** For HMACs of one-time codes and of the identifiers in limits (reference: Secrets at rest). */
  readonly hmac: Buffer
  /** That key, and those before it: codes that were given out before the encryption key changed are compared with all. */
  readonly hmacs: readonly Buffer[]
  /** For sealed payloads in the job queue: the first seals, all of them open. */
  readonly jobs: readonly [Buffer, ...Buffer[]]
}

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
