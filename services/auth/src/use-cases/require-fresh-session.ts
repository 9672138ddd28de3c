import type { Kysely } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { signInTooOld } from '../errors.ts'
import { listProofs } from '../sessions/session-rows.ts'
import type { ActiveCaller } from './find-caller.ts'

/**
 * Asks for a sign-in, or a second factor, of a moment ago, where SESSIONS_FRESH_FOR says how long that is: before anything
 * changes that sign-ins rest on. Who is anonymous could not sign in again. @throws signInTooOld
 */
export async function requireFreshSession(
  db: Kysely<AuthDatabase>,
  { config, now }: Pick<AuthDeps, 'config' | 'now'>,
  { user, session }: ActiveCaller,
): Promise<void> {
  const { freshForMs } = config.sessions
  if (freshForMs === undefined || user.isAnonymous) return
  const since = now().getTime() - freshForMs
  const proofs = session ? await listProofs(db, session.id) : []
  if (!proofs.some(({ at }) => Date.parse(at) >= since)) throw signInTooOld()
}
