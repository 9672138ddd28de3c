import { sql } from 'kysely'
import type { Trx } from '../database.ts'

/**
 * The unfinished work of sessions (reference: Work of sessions). `all`: whatever waits for the user, also without a session.
 * `session`: what one session has started.
 */
export type SessionWork = { readonly scope: 'all' } | { readonly scope: 'session'; readonly sessionId: string }

/** Ends pending changes of address, nonces, challenges, linking flows and auth codes of a user, who is locked. */
export async function callEndSessionWork(trx: Trx, userId: string, work: SessionWork): Promise<void> {
  const sessionId = work.scope === 'session' ? work.sessionId : null
  await sql`SELECT ${sql.table('end_session_work')}(${userId}, ${work.scope}, ${sessionId}::uuid)`.execute(trx)
}
