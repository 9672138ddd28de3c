import {
  findSigningKeyStatus,
  lockSigningKeys,
  retiredVerifySeconds,
  updateKeyToRetired,
} from '../access-tokens/signing-key-repository.ts'
import type { OperatorDeps } from '../deps.ts'

/**
 * What happens to the tokens that a key has signed. `hold`: they stay valid until they expire. `refused`, for a key that has
 * leaked: this service refuses them within seconds, and other services do so when they read the key set again.
 */
export type TokensOfRetired = 'hold' | 'refused'

/** How a retirement went. Only `retired` has changed anything. */
export type Retirement =
  /** `until`: when the key stops verifying; undefined when it has stopped. `wasActive`: JWT_SECRET signs instead. */
  | { readonly verdict: 'retired'; readonly until: string | undefined; readonly wasActive: boolean }
  | { readonly verdict: 'retired-already' }
  | { readonly verdict: 'unknown' }

/**
 * Retires a key. It signs no more, unless it is promoted again while it still verifies.
 * @throws Error when its row has a state that this release does not know
 */
export async function retireSigningKey(
  { db, config }: Pick<OperatorDeps, 'config' | 'db'>,
  kid: string,
  tokens: TokensOfRetired,
): Promise<Retirement> {
  return lockSigningKeys(db, async (trx): Promise<Retirement> => {
    const key = await findSigningKeyStatus(trx, kid)
    if (key === undefined) return { verdict: 'unknown' }
    const isOver = tokens === 'hold' || !key.verifies
    if (key.state === 'retired' && isOver) return { verdict: 'retired-already' }
    // A key that has never signed has no tokens to wait for.
    const hasTokens = tokens === 'hold' && key.state === 'active'
    const until = await updateKeyToRetired(trx, kid, hasTokens ? retiredVerifySeconds(config.jwt) : 0)
    return { verdict: 'retired', until: hasTokens ? until : undefined, wasActive: key.state === 'active' }
  })
}
