import type { Kysely, Transaction } from 'kysely'
import { isLostConflict } from './unavailable.ts'

const TIMES_MAX = 5

/**
 * Repeats work that lost a conflict (serialization failure, deadlock). It has written nothing, and its client need not know.
 * @throws the error of the work when it is of another kind, or when the work has lost `times` more times
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
 * Runs a transaction, and runs it again when it has lost a conflict.
 * @param work changes nothing but the database
 * @throws as `againWhenLost` does
 */
export function transactAgain<Tables, T>(
  db: Kysely<Tables>,
  work: (trx: Transaction<Tables>) => Promise<T>,
): Promise<T> {
  return againWhenLost(() => db.transaction().execute(work))
}
