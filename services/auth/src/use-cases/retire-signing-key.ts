import { findSigningKeyStatus, lockSigningKeys, updateKeyToRetired } from '../access-tokens/signing-key-repository.ts'
import type { JwtConfig } from '../config/jwt.ts'
import type { CommandDeps } from '../deps.ts'

/**
 * What becomes of the tokens that a key has signed: they hold until they expire, or, when the key is known to others,
 * are refused from now on: by this service within seconds, elsewhere when the key set is read again.
 */
export type TokensOfRetired = 'hold' | 'refused'

export type Retirement =
  /** `until` when it verifies; undefined when it does no more. `wasActive`: JWT_SECRET signs from now on. */
  | { readonly verdict: 'retired'; readonly until: string | undefined; readonly wasActive: boolean }
  | { readonly verdict: 'retired-already' }
  | { readonly verdict: 'unknown' }

/** Other processes sign with the old key until they read the table again, and their requests take some time. */
const LAG_SECONDS = 60

/** How long a key that has signed must verify. */
export function verifySecondsOfRetired({ lifetimeSeconds }: Pick<JwtConfig, 'lifetimeSeconds'>): number {
  return lifetimeSeconds + LAG_SECONDS
}

/** Keeps a key from signing ever again. */
export async function retireSigningKey(
  { db, config }: CommandDeps,
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
    const until = await updateKeyToRetired(trx, kid, hasTokens ? verifySecondsOfRetired(config.jwt) : 0)
    return { verdict: 'retired', until: hasTokens ? until : undefined, wasActive: key.state === 'active' }
  })
}
