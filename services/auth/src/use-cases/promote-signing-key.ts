import { transactAgain } from '@trestle/database/again-when-lost.ts'
import {
  findActiveKid,
  findSigningKeyStatus,
  getSigningKeyStatus,
  lockSigningKeys,
  retiredVerifySeconds,
  type SigningKeyStatus,
  updateKeyToActive,
  updateKeyToRetired,
} from '../access-tokens/signing-key-repository.ts'
import type { AuditDeps, RunWork } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import type { Db, Trx } from '../database.ts'

/** The outcome of a promotion. Only `promoted` changes a key. */
export type Promotion =
  /** `retired` is the key that signed before; undefined when JWT_SECRET did. */
  | {
      readonly verdict: 'promoted'
      readonly key: SigningKeyStatus
      readonly retired: { readonly kid: string; readonly until: string } | undefined
    }
  | { readonly verdict: 'active-already'; readonly key: SigningKeyStatus }
  | { readonly verdict: 'unknown' | 'over' }
  /** JWT_VALID_METHODS lacks the algorithm of the key, so the service would refuse its own tokens. */
  | { readonly verdict: 'refused'; readonly alg: string }
  | { readonly verdict: 'too-young'; readonly waitSeconds: number }

/** The key that is to sign. */
export interface PromoteSigningKeyInput {
  readonly kid: string
  /** How long the key must have been published, so that other services know it before they see its signatures. */
  readonly ageSecondsMin: number
}

/**
 * Makes a key the one that signs. The key that signed before verifies until its last token has expired. A retired key can be
 * promoted again while it still verifies.
 * @param runWork what the caller does in the same transaction
 * @throws Error when the row of the key has a state that this release does not know
 */
export async function promoteSigningKey<Answer>(
  deps: AuditDeps & { readonly config: AuthConfig; readonly db: Db },
  input: PromoteSigningKeyInput,
  runWork: RunWork<Promotion, Answer>,
): Promise<Answer> {
  return transactAgain(deps.db, (trx) => runWork(trx, deps, () => promoteLockedKey(trx, deps.config.jwt, input)))
}

async function promoteLockedKey(
  trx: Trx,
  jwt: AuthConfig['jwt'],
  { kid, ageSecondsMin }: PromoteSigningKeyInput,
): Promise<Promotion> {
  await lockSigningKeys(trx)
  const key = await findSigningKeyStatus(trx, kid)
  if (key === undefined) return { verdict: 'unknown' }
  if (key.state === 'active') return { verdict: 'active-already', key }
  if (!key.verifies) return { verdict: 'over' }
  if (jwt.validMethods?.includes(key.alg) === false) return { verdict: 'refused', alg: key.alg }
  const waitSeconds = Math.ceil(ageSecondsMin - key.ageSeconds)
  if (waitSeconds > 0) return { verdict: 'too-young', waitSeconds }
  const old = await findActiveKid(trx)
  const until = old === undefined ? '' : await updateKeyToRetired(trx, old, retiredVerifySeconds(jwt))
  await updateKeyToActive(trx, kid)
  const retired = old === undefined ? undefined : { kid: old, until }
  return { verdict: 'promoted', key: await getSigningKeyStatus(trx, kid), retired }
}
