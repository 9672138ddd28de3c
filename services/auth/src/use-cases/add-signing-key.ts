import type { CommandDeps } from '../deps.ts'
import { generateSigningKey } from '../sessions/generate-signing-key.ts'
import { sealSigningKey } from '../sessions/sealed-signing-key.ts'
import type { SigningAlgorithm } from '../sessions/signing-key.ts'
import { insertSigningKey, lockSigningKeys } from '../sessions/signing-key-repository.ts'

export interface KeyToAdd {
  readonly alg: SigningAlgorithm
  readonly kid: string
}

/** Makes a key that is published, and signs once it is promoted. False when that kid has been used before. */
export async function addSigningKey(deps: CommandDeps, { alg, kid }: KeyToAdd): Promise<boolean> {
  // A token of JWT_SECRET under this name would be judged by the new key.
  if (kid === deps.config.jwt.secretKeyId) return false
  const key = sealSigningKey(deps, await generateSigningKey(alg, kid))
  return lockSigningKeys(deps.db, (trx) => insertSigningKey(trx, key, 'next'))
}
