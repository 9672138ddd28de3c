import { type Kysely, sql, type Transaction } from 'kysely'
import { expect } from 'vitest'
import type { AuthTables } from '../src/database.ts'

/**
 * Returns the answer of a request that must wait for a running transaction.
 * @param happen the statements of the transaction before the request
 */
export async function answerBehind<Answer>(
  db: Kysely<AuthTables>,
  happen: (trx: Transaction<AuthTables>) => Promise<unknown>,
  ask: () => PromiseLike<Answer>,
): Promise<Answer> {
  const { answer } = await db.transaction().execute(async (trx) => {
    await happen(trx)
    // Start the request here. It would otherwise start only when its answer is awaited.
    const asked = Promise.resolve(ask())
    await expect.poll(() => isAwaited(trx)).toBe(true)
    return { answer: asked }
  })
  return answer
}

/** Whether a statement waits for a row. Excludes waits for whole transactions, as in a concurrent index build. */
async function isAwaited(trx: Transaction<AuthTables>): Promise<boolean> {
  const { rows } = await sql`
    SELECT FROM pg_locks
    WHERE NOT granted AND locktype <> 'virtualxid' AND pg_backend_pid() = ANY(pg_blocking_pids(pid))`.execute(trx)
  return rows.length > 0
}
