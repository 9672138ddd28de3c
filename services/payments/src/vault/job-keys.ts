import type { SealKeys } from '@trestle/jobs/seal.ts'
import { deriveKey } from './derive-key.ts'
import type { VaultKey } from './vault-keys.ts'

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
