import { transactAgain } from '@trestle/database/again-when-lost.ts'
import { sealSigningKey } from '../access-tokens/sealed-signing-key.ts'
import { generateSigningKey, type SigningAlgorithm } from '../access-tokens/signing-key.ts'
import {
  getSigningKeyStatus,
  insertSigningKey,
  lockSigningKeys,
  type SigningKeyStatus,
} from '../access-tokens/signing-key-repository.ts'
import type { RunWork } from '../audit/audit-log.ts'
import type { AuthDeps } from '../deps.ts'

/** A signing key that does not exist yet. `kid` is its id, unique for ever. */
export interface AddSigningKeyInput {
  readonly alg: SigningAlgorithm
  readonly kid: string
}

type AddSigningKeyDeps = Pick<AuthDeps, 'config' | 'db' | 'encryptionKeys' | 'logger' | 'now' | 'randomBytes'>

/**
 * Adds a key, which is published and signs once it is promoted. The result is the key; undefined when the kid
 * has been used before.
 * @param runWork what the caller does in the same transaction
 */
export async function addSigningKey<Answer>(
  deps: AddSigningKeyDeps,
  { alg, kid }: AddSigningKeyInput,
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
