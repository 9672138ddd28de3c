import type { Kysely, Transaction } from 'kysely'
import { isLostConflict } from './unavailable.ts'

const TIMES_MAX = 5

/**
 * Runs work again if PostgreSQL cancelled it because of a conflict (serialization failure or deadlock). Cancelled work has
 * written nothing, so the client need not know about it.
 * @throws the error of the work if it is not a conflict, or if the work was cancelled more than `times` times
 */
export async function againWhenLost<T>(work: () => Promise<T>, times = TIMES_MAX): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (times === 0 || !isLostConflict(error)) throw error
    return againWhenLost(work, times - 1)
  }
}

/**
 * Runs a database transaction, and runs it again if PostgreSQL cancels it because of a conflict.
 * @param work must change nothing outside the database
 * @throws the same errors as `againWhenLost`
 */
export function transactAgain<Tables, T>(
  db: Kysely<Tables>,
  work: (trx: Transaction<Tables>) => Promise<T>,
): Promise<T> {
  return againWhenLost(() => db.transaction().execute(work))
}
