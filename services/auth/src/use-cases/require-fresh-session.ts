import type { Kysely } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { signInTooOld } from '../errors.ts'
import { isByOldCredential, listProofs, type Proof } from '../sessions/session-rows.ts'
import type { ActiveCaller } from './find-caller.ts'

/** A session, and whose it is. */
interface Proven {
  readonly user: Pick<ActiveCaller['user'], 'isAnonymous'>
  readonly session: Pick<NonNullable<ActiveCaller['session']>, 'id'> | undefined
}

/**
 * Asks for a sign-in, or a second factor, of a moment ago, where SESSIONS_FRESH_FOR says how long that is: before anything
 * changes that sign-ins rest on. A credential that was added just now proves nothing. Anonymous users are exempt: they could
 * not sign in again. @throws signInTooOld
 */
export async function requireFreshSession(
  db: Kysely<AuthDatabase>,
  { config, now }: Pick<AuthDeps, 'config' | 'now'>,
  { user, session }: Proven,
): Promise<void> {
  const { freshForMs } = config.sessions
  if (freshForMs === undefined || user.isAnonymous) return
  const since = now().getTime() - freshForMs
  const proofs = session ? await listProofs(db, session.id) : []
  const counts = (proof: Proof) => Date.parse(proof.at) >= since && isByOldCredential(proof, freshForMs)
  if (!proofs.some(counts)) throw signInTooOld()
}
