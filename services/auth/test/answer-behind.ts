import { type Kysely, sql, type Transaction } from 'kysely'
import { expect } from 'vitest'
import type { AuthDatabase } from '../src/database.ts'

/**
 * What a request is answered that meets a transaction under way, and waits for its end.
 * @param happen what the transaction has done by then
 */
export async function answerBehind<Answer>(
  db: Kysely<AuthDatabase>,
  happen: (trx: Transaction<AuthDatabase>) => Promise<unknown>,
  ask: () => PromiseLike<Answer>,
): Promise<Answer> {
  const { answer } = await db.transaction().execute(async (trx) => {
    await happen(trx)
    // Asked now, not when somebody waits for the answer.
    const asked = Promise.resolve(ask())
    await expect.poll(() => isAwaited(trx)).toBe(true)
    return { answer: asked }
  })
  return answer
}

/** Whether somebody waits for what a transaction holds. */
async function isAwaited(trx: Transaction<AuthDatabase>): Promise<boolean> {
  const { rows } =
    await sql`SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))`.execute(trx)
  return rows.length > 0
}
