import { type Kysely, sql, type Transaction } from 'kysely'
import { expect } from 'vitest'
import type { AuthTables } from '../src/database.ts'

/**
 * The answer of a request that waits for a transaction that has already begun.
 * @param happen what the transaction has done by then
 */
export async function answerBehind<Answer>(
  db: Kysely<AuthTables>,
  happen: (trx: Transaction<AuthTables>) => Promise<unknown>,
  ask: () => PromiseLike<Answer>,
): Promise<Answer> {
  const { answer } = await db.transaction().execute(async (trx) => {
    await happen(trx)
    // The request starts here, not when its answer is awaited.
    const asked = Promise.resolve(ask())
    await expect.poll(() => isAwaited(trx)).toBe(true)
    return { answer: asked }
  })
  return answer
}

/** Whether a statement waits for a row. What waits for all transactions, such as a concurrent build of an index, is another. */
async function isAwaited(trx: Transaction<AuthTables>): Promise<boolean> {
  const { rows } = await sql`
    SELECT FROM pg_locks
    WHERE NOT granted AND locktype <> 'virtualxid' AND pg_backend_pid() = ANY(pg_blocking_pids(pid))`.execute(trx)
  return rows.length > 0
}
