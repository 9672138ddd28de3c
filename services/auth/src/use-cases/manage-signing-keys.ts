import { transactAgain } from '@trestle/database/again-when-lost.ts'
import { generateSigningKey, type SigningAlgorithm, type SigningKeyStatus } from '../access-tokens/signing-key.ts'
import {
  encryptSigningKey,
  findActiveKid,
  findSigningKeyStatus,
  getSigningKeyStatus,
  insertSigningKey,
  lockSigningKeys,
  retiredVerifySeconds,
  updateKeyToActive,
  updateKeyToRetired,
} from '../access-tokens/signing-key-repository.ts'
import type { AuditDeps, RunWork } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import type { Db, Trx } from '../database.ts'
import type { EncryptionKeys, RandomBytes } from '../secrets/encrypted-secret.ts'

/** Adds a key. It signs after its promotion. The result is the key, or `undefined` if the kid was used before. */
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
  const key = encryptSigningKey(deps, await generateSigningKey(alg, kid))
  return transactAgain(deps.db, (trx) =>
    runWork(trx, deps, async () => {
      await lockSigningKeys(trx)
      // Otherwise tokens that JWT_SECRET has signed with this kid would be verified with the new key.
      if (kid === deps.config.jwt.secretKeyId) return undefined
      return (await insertSigningKey(trx, key, 'next')) ? getSigningKeyStatus(trx, kid) : undefined
    }),
  )
}

/** The outcome of a promotion. Only `promoted` changes a key. */
export type Promotion =
  /** `retired` is the key that signed before, or `undefined` if it was JWT_SECRET. */
  | {
      readonly verdict: 'promoted'
      readonly key: SigningKeyStatus
      readonly retired: { readonly kid: string; readonly until: string } | undefined
    }
  | { readonly verdict: 'active-already'; readonly key: SigningKeyStatus }
  | { readonly verdict: 'unknown' | 'over' }
  /** JWT_VALID_METHODS lacks the key's algorithm, so the service would refuse its own tokens. */
  | { readonly verdict: 'refused'; readonly alg: string }
  | { readonly verdict: 'too-young'; readonly waitSeconds: number }

interface PromoteSigningKeyInput {
  readonly kid: string
  /** How long the key must have been published, so that other services know it before its first signature. */
  readonly ageSecondsMin: number
}

/**
 * Makes a key the signing key. The previous one verifies tokens until its last token has expired. A retired key can be promoted
 * again while it still verifies.
 * @throws Error if the row of the key has a state that this release does not know
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

/**
 * What happens to tokens of a retired key. `keep`: they stay valid until they expire. `refuse`, for a leaked key: this service
 * refuses them within seconds, and other services after they have read the key set again. `expect-none`: the key is not retired
 * if it signs or its tokens may be valid.
 */
export type TokensOfRetired = 'keep' | 'refuse' | 'expect-none'

/** The result of a retirement. Only `retired` has changed anything. */
export type Retirement =
  /** `until` is the end of its verification, `undefined` if ended. With `wasActive`, JWT_SECRET signs now. */
  | {
      readonly verdict: 'retired'
      readonly key: SigningKeyStatus
      readonly until: string | undefined
      readonly wasActive: boolean
    }
  | { readonly verdict: 'retired-already'; readonly key: SigningKeyStatus }
  /** `in-use`: the key signs, or its tokens may be valid. */
  | { readonly verdict: 'in-use' }
  | { readonly verdict: 'unknown' }

interface RetireSigningKeyInput {
  readonly kid: string
  readonly tokens: TokensOfRetired
}

/** Retires a key. It signs no longer, unless it is promoted again while it still verifies. */
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
  // A key that has never signed has no tokens that must stay valid.
  const hasTokens = tokens === 'keep' && key.state === 'active'
  const until = await updateKeyToRetired(trx, kid, hasTokens ? retiredVerifySeconds(jwt) : 0)
  const retired = { key: await getSigningKeyStatus(trx, kid), wasActive: key.state === 'active' }
  return { verdict: 'retired', ...retired, until: hasTokens ? until : undefined }
}
