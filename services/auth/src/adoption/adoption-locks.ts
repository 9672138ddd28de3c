import { inLatest } from '@trestle/database/migrations/migrator.ts'
import { isLockTimeout } from '@trestle/database/unavailable.ts'
import { type Kysely, type RawBuilder, sql } from 'kysely'

/**
 * How long a statement waits for a lock while the old service serves, in milliseconds. Requests of the old service wait behind a
 * statement that waits. The time is less than the second after which PostgreSQL looks for deadlocks, so that none of them fails.
 */
export const GENTLE_WAIT_MS = 200
const GENTLE_ATTEMPTS = 5
/** Longer than the second after which PostgreSQL looks for deadlocks, in waits that are shorter. */
const PATIENT_REQUESTS = 5

/**
 * A transaction while the old service serves, which waits for no lock for long. To disturb no request, it locks one table of
 * supabase/auth, and none of its rows. @throws DatabaseError (55P03) when a lock is not granted
 */
export function inGentle<T>(db: Kysely<unknown>, use: (trx: Kysely<unknown>) => Promise<T>): Promise<T> {
  return inLatest(db).execute(async (trx) => {
    await sql`SET LOCAL lock_timeout = ${sql.lit(GENTLE_WAIT_MS)}`.execute(trx)
    return use(trx)
  })
}

/**
 * Locks tables against everything, one after the other. Requests of the old service lock its tables in
 * various orders, so no order of ours avoids deadlocks with all of them. The first attempts of a transaction
 * give up before PostgreSQL looks for deadlocks, so that no request fails. Where the old service is so busy
 * that there is always such a request, later attempts keep the locks that they have, and ask again for the
 * next one: PostgreSQL ends the requests that wait for us and that we wait for, and never us.
 * @param attempt of the transaction, from 1
 * @throws DatabaseError (55P03) when a lock is not granted
 */
export async function lockTables(
  trx: Kysely<unknown>,
  tables: readonly RawBuilder<unknown>[],
  attempt: number,
): Promise<void> {
  await sql`SET LOCAL lock_timeout = '500ms'`.execute(trx)
  const requests = attempt <= GENTLE_ATTEMPTS ? 1 : PATIENT_REQUESTS
  for (const name of tables) {
    const lock = sql`LOCK TABLE ${name} IN ACCESS EXCLUSIVE MODE`
    for (let request = 1; !(await isGranted(trx, lock, { isLast: request === requests })); request += 1);
  }
}

/** Asks for a lock. A request that is not granted keeps the locks it has, unless it is the last one, which throws. */
async function isGranted(
  trx: Kysely<unknown>,
  lock: RawBuilder<unknown>,
  { isLast }: { readonly isLast: boolean },
): Promise<boolean> {
  await sql`SAVEPOINT asking`.execute(trx)
  try {
    await lock.execute(trx)
  } catch (error) {
    if (isLast || !isLockTimeout(error)) throw error
    await sql`ROLLBACK TO SAVEPOINT asking`.execute(trx)
    return false
  }
  await sql`RELEASE SAVEPOINT asking`.execute(trx)
  return true
}
