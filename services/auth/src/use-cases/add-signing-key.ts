import { sealSigningKey } from '../access-tokens/sealed-signing-key.ts'
import { generateSigningKey, type SigningAlgorithm } from '../access-tokens/signing-key.ts'
import { insertSigningKey, lockSigningKeys } from '../access-tokens/signing-key-repository.ts'
import type { OperatorDeps } from '../deps.ts'

/** A signing key that does not exist yet. `kid` is its id, unique for ever. */
export interface AddSigningKeyInput {
  readonly alg: SigningAlgorithm
  readonly kid: string
}

/** Adds a key, which is published and signs once it is promoted. False when the kid has been used before. */
export async function addSigningKey(
  deps: Pick<OperatorDeps, 'config' | 'db' | 'randomBytes' | 'encryptionKeys'>,
  { alg, kid }: AddSigningKeyInput,
): Promise<boolean> {
  // A token that JWT_SECRET has signed under this kid would be verified with the new key.
  if (kid === deps.config.jwt.secretKeyId) return false
  const key = sealSigningKey(deps, await generateSigningKey(alg, kid))
  return lockSigningKeys(deps.db, (trx) => insertSigningKey(trx, key, 'next'))
}
