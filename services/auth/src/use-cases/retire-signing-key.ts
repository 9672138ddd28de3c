import { transactAgain } from '@trestle/database/again-when-lost.ts'
import {
  findSigningKeyStatus,
  getSigningKeyStatus,
  lockSigningKeys,
  retiredVerifySeconds,
  type SigningKeyStatus,
  updateKeyToRetired,
} from '../access-tokens/signing-key-repository.ts'
import type { AuditDeps, RunWork } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import type { Db, Trx } from '../database.ts'

/**
 * The treatment of the tokens that a retired key has signed. `keep`: they stay valid until they expire.
 * `refuse`, for a key that has leaked: this service refuses them within seconds, and other services do so
 * when they read the key set again. `expect-none`: a key that signs, or whose tokens may be valid, is not retired.
 */
export type TokensOfRetired = 'keep' | 'refuse' | 'expect-none'

/** How a retirement went. Only `retired` has changed anything. */
export type Retirement =
  /** `until`: when the key stops verifying; undefined when it has stopped. `wasActive`: JWT_SECRET signs instead. */
  | {
      readonly verdict: 'retired'
      readonly key: SigningKeyStatus
      readonly until: string | undefined
      readonly wasActive: boolean
    }
  | { readonly verdict: 'retired-already'; readonly key: SigningKeyStatus }
  /** `in-use`: it signs, or its tokens may be valid. */
  | { readonly verdict: 'in-use' }
  | { readonly verdict: 'unknown' }

/** The key that is to sign no more. */
export interface RetireSigningKeyInput {
  readonly kid: string
  readonly tokens: TokensOfRetired
}

/**
 * Retires a key. It signs no more, unless it is promoted again while it still verifies.
 * @param runWork what the caller does in the same transaction
 * @throws Error when its row has a state that this release does not know
 */
export async function retireSigningKey<Answer>(
  deps: AuditDeps & { readonly config: AuthConfig; readonly db: Db },
  input: RetireSigningKeyInput,
  runWork: RunWork<Retirement, Answer>,
): Promise<Answer> {
  return transactAgain(deps.db, (trx) => runWork(trx, deps, () => retireLockedKey(trx, deps.config.jwt, input)))
}

async function retireLockedKey(
  trx: Trx,
  jwt: AuthConfig['jwt'],
  { kid, tokens }: RetireSigningKeyInput,
): Promise<Retirement> {
  await lockSigningKeys(trx)
  const key = await findSigningKeyStatus(trx, kid)
  if (key === undefined) return { verdict: 'unknown' }
  const mayHaveTokens = key.verifies && key.state !== 'next'
  if (tokens === 'expect-none' && mayHaveTokens) return { verdict: 'in-use' }
  const stillVerifies = key.verifies && tokens === 'refuse'
  if (key.state === 'retired' && !stillVerifies) return { verdict: 'retired-already', key }
  // A key that has never signed has no tokens to wait for.
  const hasTokens = tokens === 'keep' && key.state === 'active'
  const until = await updateKeyToRetired(trx, kid, hasTokens ? retiredVerifySeconds(jwt) : 0)
  const retired = { key: await getSigningKeyStatus(trx, kid), wasActive: key.state === 'active' }
  return { verdict: 'retired', ...retired, until: hasTokens ? until : undefined }
}
