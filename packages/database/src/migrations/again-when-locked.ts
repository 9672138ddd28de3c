import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'

const LOCK_ATTEMPTS_MAX = 20
const LOCK_PAUSE_MS = 1_000
/** 55P03: the lock was not available. 40P01: PostgreSQL ended the migration because of a deadlock. */
const RETRYABLE: ReadonlySet<string | undefined> = new Set(['55P03', '40P01'])
/** Citus passes on this text of another server, and not always its code. */
const LOCK_TIMEOUT_ELSEWHERE = /canceling statement due to lock timeout$/

/**
 * Runs a transaction again if it gave way to other transactions: it waited too long for a lock, or PostgreSQL ended it because of
 * a deadlock.
 * @param run gets the number of the attempt, from 1
 * @param pauseMs between attempts, in which other transactions get their turn
 * @throws Error that says what to do when every attempt gave way
 */
export async function againWhenLocked<T>(run: (attempt: number) => Promise<T>, pauseMs = LOCK_PAUSE_MS): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run(attempt)
    } catch (error) {
      if (!isRetryable(error)) throw error
      if (attempt === LOCK_ATTEMPTS_MAX)
        throw new Error(
          `other transactions held tables that are needed, at each of ${attempt} attempts: end the long ones that pg_stat_activity and pg_prepared_xacts list, or wait for a quieter time, and run this again`,
          { cause: error },
        )
      await pause(pauseMs)
    }
  }
}

/** The cause of a migration's error is the error of the database. */
function isRetryable(error: unknown): boolean {
  const reason = error instanceof Error && error.cause !== undefined ? error.cause : error
  if (!(reason instanceof pg.DatabaseError)) return false
  return RETRYABLE.has(reason.code) || LOCK_TIMEOUT_ELSEWHERE.test(reason.message)
}
