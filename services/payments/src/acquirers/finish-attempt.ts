import { isDatabaseUnavailable, isRebalancingError } from '@trestle/database/unavailable.ts'
import { processingErrorOf, UNKNOWN_OUTCOME } from '../transactions/processing-error.ts'
import type { AuthorizationOutcome } from './acquirer.ts'

const PAUSE_MS = 500
/** Together 40 s at least. Tries during a rebalance do not count, because nobody looks for lost attempts meanwhile. */
const TRIES_MAX = 80

/** An answer of an acquirer about any payment, as the columns of its attempt. */
export interface AttemptColumns {
  readonly outcome: 'approved' | 'declined' | 'unknown'
  /** Null when approved, as is the number of the processing error. */
  readonly statusCode: string | null
  readonly errorCode: number | null
  readonly acquirerRef: string | null
  readonly networkRef: string | null
}

export interface Ending {
  readonly outcome: AuthorizationOutcome
  /** Writes the transaction. @returns its id; undefined when the attempt had its outcome before */
  readonly finish: (columns: AttemptColumns) => Promise<string | undefined>
  readonly wait: (ms: number) => Promise<void>
}

/** The end of an attempt. `failedId`: the failed transaction; undefined when it was called unknown before. */
export type AttemptEnd =
  | { readonly verdict: 'approved'; readonly transactionId: string }
  | { readonly verdict: 'refused'; readonly statusCode: string; readonly failedId: string | undefined }

/**
 * Writes the answer of the acquirer. While the database is unavailable, this is tried again: otherwise the attempt would become
 * unknown, and an approved payment would be given back.
 * @throws the first error when the database stays unavailable, and when a later try finds the attempt settled. The first try may have
 * settled it before its answer was lost, so only a repeat of the request gets the outcome
 */
export async function finishAttempt({ outcome, finish, wait }: Ending): Promise<AttemptEnd> {
  const columns = toAttemptColumns(outcome)
  const { statusCode } = columns
  const transactionId = await finishOnceBack(() => finish(columns), wait)
  // The answer was so late that the attempt was called unknown before. An approval is then given back, and
  // repeats of the request get the unknown outcome.
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
      // The first try may have written the outcome: its answer was lost with the database.
      case 'settled':
      case 'away':
        throw error
    }
  }
}

/** The outcome of further tries: the transaction is written; the attempt had its outcome before; the database has stayed unavailable. */
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
