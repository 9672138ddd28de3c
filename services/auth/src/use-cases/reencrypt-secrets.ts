import type { Db } from '../database.ts'
import {
  countOldSecrets,
  type EncryptedColumn,
  encryptedColumns,
  lockOldSecrets,
  updateSecret,
} from '../secrets/encrypted-column-repository.ts'
import { decryptSecret, type EncryptionKeys, encryptSecret, type RandomBytes } from '../secrets/encrypted-secret.ts'

type ReencryptSecretsDeps = {
  readonly db: Db
  readonly randomBytes: RandomBytes
  readonly encryptionKeys: EncryptionKeys
}

/** The result for the secrets of a column. */
export interface Reencrypted {
  readonly place: EncryptedColumn
  /** The number of newly encrypted secrets. */
  readonly encrypted: number
  /** Secrets still encrypted with another key, because another transaction was changing them. */
  readonly left: number
}

/**
 * Encrypts every secret in the database with the current key, in batches. After an interruption, finished batches remain. Several
 * runs may work at the same time. When no secret is left, the other keys can be removed from the settings.
 * @throws Error for a secret whose key is unknown
 */
export async function reencryptSecrets(deps: ReencryptSecretsDeps): Promise<readonly Reencrypted[]> {
  const { db, encryptionKeys } = deps
  const results: Reencrypted[] = []
  for (const place of encryptedColumns) {
    let encrypted = 0
    for (let after: string | undefined = place.start; after !== undefined; ) {
      const batch: Batch = await reencryptBatch(deps, place, after)
      encrypted += batch.encrypted
      after = batch.last
    }
    results.push({ place, encrypted, left: await countOldSecrets(db, place, encryptionKeys.current.id) })
  }
  return results
}

interface Batch {
  readonly encrypted: number
  /** The last row, or `undefined` if there was none. */
  readonly last: string | undefined
}

function reencryptBatch(deps: ReencryptSecretsDeps, place: EncryptedColumn, after: string): Promise<Batch> {
  const { db, encryptionKeys } = deps
  return db.transaction().execute(async (trx) => {
    const rows = await lockOldSecrets(trx, place, { keyId: encryptionKeys.current.id, after })
    for (const { id, encrypted } of rows) {
      const secret = decryptSecret(encryptionKeys, id, encrypted)
      await updateSecret(trx, place, { id, encrypted: encryptSecret(deps, id, secret) })
    }
    return { encrypted: rows.length, last: rows.at(-1)?.id }
  })
}
