/**
 * The decision of the database about key, path, access and Idempotency-Key, in this order. `key-mismatch`: the key was
 * used with another body. `key-running`: its first request has not finished. `replayed`: the answer is the effect of
 * the first request.
 */
export type Verdict = 'unauthorized' | 'not-found' | 'forbidden' | 'key-mismatch' | 'key-running' | 'replayed' | 'done'

/** The columns that every statement for a request returns beside its own. */
export interface AccessResult {
  readonly verdict: Verdict
  /** Null for an unknown key. */
  readonly identityId: string | null
}

/**
 * The result of a statement that decides more than access. `outcome` is undefined when access is refused, and when the statement
 * was asked to judge access and nothing else.
 */
export interface Judged<Outcome> extends AccessResult {
  readonly outcome: Outcome | undefined
}

/**
 * Separates the refusals of one SQL function from the verdicts that all of them have.
 * @returns for a refusal `done` and the refusal, for any other verdict itself and undefined
 */
export function splitVerdict<const Own extends string>(
  verdict: Verdict | Own,
  refusals: readonly Own[],
): readonly [Verdict, Own | undefined] {
  const isRefusal = (candidate: Verdict | Own): candidate is Own => refusals.some((each) => each === candidate)
  return isRefusal(verdict) ? ['done', verdict] : [verdict, undefined]
}
