import type { Db } from '../database.ts'
import { countOldSeals, lockOldSeals, type SealedPlace, sealedPlaces, updateSeal } from '../secrets/seal-repository.ts'
import { type EncryptionKeys, openSecret, type RandomBytes, sealSecret } from '../secrets/sealed-secret.ts'

type ResealSecretsDeps = { readonly db: Db; readonly randomBytes: RandomBytes; readonly encryptionKeys: EncryptionKeys }

/** The result for the secrets of a column. */
export interface Resealed {
  readonly place: SealedPlace
  /** How many were sealed again. */
  readonly sealed: number
  /** How many are still sealed with another key, since another transaction was changing them. */
  readonly left: number
}

/**
 * Seals every secret in the database with the current key, batch by batch. An interrupted run keeps the finished batches, and
 * several runs may work at once. When no secret is left, the other keys can be removed from the settings.
 * @throws Error for a secret whose key is unknown
 */
export async function resealSecrets(deps: ResealSecretsDeps): Promise<readonly Resealed[]> {
  const { db, encryptionKeys } = deps
  const results: Resealed[] = []
  for (const place of sealedPlaces) {
    let sealed = 0
    for (let after: string | undefined = place.start; after !== undefined; ) {
      const batch: Batch = await resealBatch(deps, place, after)
      sealed += batch.sealed
      after = batch.last
    }
    results.push({ place, sealed, left: await countOldSeals(db, place, encryptionKeys.current.id) })
  }
  return results
}

interface Batch {
  readonly sealed: number
  /** The last row; undefined when there was none. */
  readonly last: string | undefined
}

function resealBatch(deps: ResealSecretsDeps, place: SealedPlace, after: string): Promise<Batch> {
  const { db, encryptionKeys } = deps
  return db.transaction().execute(async (trx) => {
    const rows = await lockOldSeals(trx, place, { keyId: encryptionKeys.current.id, after })
    for (const { id, sealed } of rows) {
      const secret = openSecret(encryptionKeys, id, sealed)
      await updateSeal(trx, place, { id, sealed: sealSecret(deps, id, secret) })
    }
    return { sealed: rows.length, last: rows.at(-1)?.id }
  })
}
