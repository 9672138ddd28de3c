import { isDatabaseUnavailable, isRebalancingError } from '@trestle/database/unavailable.ts'
import { processingErrorOf, UNKNOWN_OUTCOME } from '../transactions/processing-error.ts'
import type { AuthorizationOutcome } from './acquirer.ts'

const PAUSE_MS = 500
/** At least 40 s in total. Tries during a rebalance do not count, because lost attempts are not looked for then. */
const TRIES_MAX = 80

/** An acquirer's answer about a payment of any kind, as columns of its attempt. */
export interface AttemptColumns {
  readonly outcome: 'approved' | 'declined' | 'unknown'
  /** `null` if the outcome is `approved`. The same holds for `errorCode`, the number of the processing error. */
  readonly statusCode: string | null
  readonly errorCode: number | null
  readonly acquirerRef: string | null
  readonly networkRef: string | null
}

export interface Ending {
  readonly outcome: AuthorizationOutcome
  /** Writes the transaction. @returns the id of the transaction, or `undefined` if the attempt already had an outcome */
  readonly finish: (columns: AttemptColumns) => Promise<string | undefined>
  readonly wait: (ms: number) => Promise<void>
}

/** The end of an attempt. `failedId`: the failed transaction, `undefined` if the attempt was already unknown. */
export type AttemptEnd =
  | { readonly verdict: 'approved'; readonly transactionId: string }
  | { readonly verdict: 'refused'; readonly statusCode: string; readonly failedId: string | undefined }

/**
 * Writes the answer of the acquirer. Retries while the database is unavailable. Otherwise the attempt would become unknown, and
 * an approved payment would be given back.
 * @throws the first error if the database stays unavailable or a later try finds that the attempt already has an outcome. The
 * first try may have written that outcome before the connection was lost. The client gets the outcome by repeating the request.
 */
export async function finishAttempt({ outcome, finish, wait }: Ending): Promise<AttemptEnd> {
  const columns = toAttemptColumns(outcome)
  const { statusCode } = columns
  const transactionId = await finishOnceBack(() => finish(columns), wait)
  // The attempt was marked as unknown before this late answer. The service gives back an approval, and idempotent requests get the
  // unknown outcome.
  if (transactionId === undefined) return { verdict: 'refused', statusCode: UNKNOWN_OUTCOME, failedId: undefined }
  return statusCode === null
    ? { verdict: 'approved', transactionId }
    : { verdict: 'refused', statusCode, failedId: transactionId }
}

export function toAttemptColumns(outcome: AuthorizationOutcome): AttemptColumns {
  if (outcome.verdict === 'approved') {
    const { ref: acquirerRef, networkRef } = outcome
    return { outcome: 'approved', statusCode: null, errorCode: null, acquirerRef, networkRef }
  }
  const statusCode = outcome.verdict === 'unknown' ? UNKNOWN_OUTCOME : outcome.statusCode
  const errorCode = processingErrorOf(statusCode)
  return { outcome: outcome.verdict, statusCode, errorCode, acquirerRef: null, networkRef: null }
}

type Finish = () => Promise<string | undefined>

async function finishOnceBack(finish: Finish, wait: Ending['wait']): Promise<string | undefined> {
  try {
    return await finish()
  } catch (error) {
    if (!isDatabaseUnavailable(error)) throw error
    const later = await finishLater(finish, wait)
    switch (later.verdict) {
      case 'written':
        return later.transactionId
      // The first try may have written the outcome before the connection to the database was lost.
      case 'settled':
      case 'away':
        throw error
    }
  }
}

/** `written`: the transaction is stored. `settled`: the attempt had an outcome. `away`: the database stayed unavailable. */
type LaterFinish =
  | { readonly verdict: 'written'; readonly transactionId: string }
  | { readonly verdict: 'settled' }
  | { readonly verdict: 'away' }

async function finishLater(finish: Finish, wait: Ending['wait']): Promise<LaterFinish> {
  for (let tries = 0; tries < TRIES_MAX; ) {
    await wait(PAUSE_MS)
    try {
      const transactionId = await finish()
      return transactionId === undefined ? { verdict: 'settled' } : { verdict: 'written', transactionId }
    } catch (error) {
      if (!isDatabaseUnavailable(error)) throw error
      if (!isRebalancingError(error)) tries += 1
    }
  }
  return { verdict: 'away' }
}
