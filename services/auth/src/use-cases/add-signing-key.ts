import { transactAgain } from '@trestle/database/again-when-lost.ts'
import { generateSigningKey, type SigningAlgorithm } from '../access-tokens/signing-key.ts'
import {
  getSigningKeyStatus,
  insertSigningKey,
  lockSigningKeys,
  type SigningKeyStatus,
  sealSigningKey,
} from '../access-tokens/signing-key-repository.ts'
import type { AuditDeps, RunWork } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import type { Db } from '../database.ts'
import type { EncryptionKeys, RandomBytes } from '../secrets/sealed-secret.ts'

/**
 * Adds a key, which is published and signs once it is promoted. The result is the key; undefined when the kid
 * has been used before.
 * @param runWork what the caller does in the same transaction
 */
export async function addSigningKey<Answer>(
  deps: AuditDeps & {
    readonly config: AuthConfig
    readonly db: Db
    readonly encryptionKeys: EncryptionKeys
    readonly randomBytes: RandomBytes
  },
  { alg, kid }: { readonly alg: SigningAlgorithm; readonly kid: string },
  runWork: RunWork<SigningKeyStatus | undefined, Answer>,
): Promise<Answer> {
  const key = sealSigningKey(deps, await generateSigningKey(alg, kid))
  return transactAgain(deps.db, (trx) =>
    runWork(trx, deps, async () => {
      await lockSigningKeys(trx)
      // A token that JWT_SECRET has signed under this kid would be verified with the new key.
      if (kid === deps.config.jwt.secretKeyId) return undefined
      return (await insertSigningKey(trx, key, 'next')) ? getSigningKeyStatus(trx, kid) : undefined
    }),
  )
}
