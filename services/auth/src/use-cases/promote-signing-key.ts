import {
  findActiveKid,
  findSigningKeyStatus,
  lockSigningKeys,
  retiredVerifySeconds,
  updateKeyToActive,
  updateKeyToRetired,
} from '../access-tokens/signing-key-repository.ts'
import type { OperatorDeps } from '../deps.ts'

/** The outcome of a promotion. Only `promoted` changes a key. */
export type Promotion =
  /** `retired` is the key that signed before; undefined when JWT_SECRET did. */
  | { readonly verdict: 'promoted'; readonly retired: { readonly kid: string; readonly until: string } | undefined }
  | { readonly verdict: 'active-already' | 'unknown' | 'over' }
  /** JWT_VALID_METHODS lacks the algorithm of the key, so the service would refuse its own tokens. */
  | { readonly verdict: 'refused'; readonly alg: string }
  | { readonly verdict: 'too-young'; readonly waitSeconds: number }

/**
 * Makes a key the one that signs. The key that signed before verifies until its last token has expired. A retired key can be
 * promoted again while it still verifies.
 * @param ageSecondsMin how long the key must have been published, so that others know it before they see its signatures
 * @throws Error when its row has a state that this release does not know
 */
export async function promoteSigningKey(
  { db, config }: Pick<OperatorDeps, 'config' | 'db'>,
  kid: string,
  ageSecondsMin: number,
): Promise<Promotion> {
  return lockSigningKeys(db, async (trx): Promise<Promotion> => {
    const key = await findSigningKeyStatus(trx, kid)
    if (key === undefined) return { verdict: 'unknown' }
    if (key.state === 'active') return { verdict: 'active-already' }
    if (!key.verifies) return { verdict: 'over' }
    if (config.jwt.validMethods?.includes(key.alg) === false) return { verdict: 'refused', alg: key.alg }
    const waitSeconds = Math.ceil(ageSecondsMin - key.ageSeconds)
    if (waitSeconds > 0) return { verdict: 'too-young', waitSeconds }
    const old = await findActiveKid(trx)
    const until = old === undefined ? '' : await updateKeyToRetired(trx, old, retiredVerifySeconds(config.jwt))
    await updateKeyToActive(trx, kid)
    return { verdict: 'promoted', retired: old === undefined ? undefined : { kid: old, until } }
  })
}
