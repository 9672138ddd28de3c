/**
 * The database's decision about API key, path, access and Idempotency-Key, in this order. `key-mismatch`: the key was used with
 * another body. `key-running`: its first request has not finished. `replayed`: the first request's effect.
 */
export type Verdict = 'unauthorized' | 'not-found' | 'forbidden' | 'key-mismatch' | 'key-running' | 'replayed' | 'done'

/** The columns that every statement for a request returns in addition to its own. */
export interface AccessResult {
  readonly verdict: Verdict
  /** `null` if the key is unknown. */
  readonly identityId: string | null
}

/**
 * The result of a statement that decides more than access. `outcome` is `undefined` if access is refused or if the statement only
 * checked access.
 */
export interface Judged<Outcome> extends AccessResult {
  readonly outcome: Outcome | undefined
}

/**
 * Separates the refusals of one SQL function from the verdicts that all functions share.
 * @returns `['done', refusal]` for a refusal, otherwise `[verdict, undefined]`
 */
export function splitVerdict<const Own extends string>(
  verdict: Verdict | Own,
  refusals: readonly Own[],
): readonly [Verdict, Own | undefined] {
  const isRefusal = (candidate: Verdict | Own): candidate is Own => refusals.some((each) => each === candidate)
  return isRefusal(verdict) ? ['done', verdict] : [verdict, undefined]
}
