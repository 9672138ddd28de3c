import { hkdfSync } from 'node:crypto'

const KEY_BYTES = 32

/** Keys of the process that are made from the encryption key of the database, one per use. */
export interface ServerKeys {
  /** For HMACs of one-time codes and of the identifiers in limits (contract 8.2). */
  readonly hmac: Buffer
  /** For sealed payloads in the job queue. */
  readonly jobs: Buffer
}

/** @param encryptionKey 32 bytes: SECURITY_DATABASE_ENCRYPTION_KEY, or what is derived from the JWT secret */
export function deriveServerKeys(encryptionKey: Buffer): ServerKeys {
  const derive = (info: string): Buffer => Buffer.from(hkdfSync('sha256', encryptionKey, '', info, KEY_BYTES))
  return { hmac: derive('server-hmac-v1'), jobs: derive('job-payload-v1') }
}
