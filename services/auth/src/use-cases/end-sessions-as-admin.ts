import { transactAgain } from '@trestle/database/again-when-lost.ts'
import type { RunWork } from '../audit/audit-log.ts'
import type { Trx } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { deleteFinishedFlows } from '../flows/flow-repository.ts'
import { deletePendingChanges } from '../one-time-tokens/pending-change-repository.ts'
import type { Admin } from '../sessions/admin.ts'
import { deleteListedSessions } from '../sessions/listed-session-repository.ts'
import { requireListedSession } from '../sessions/session.ts'
import { lockManagedUser, type ManagedUser } from '../users/user-repository.ts'

/** A user, and which of their sessions end. */
export interface EndSessionsAsAdminInput extends ManagedUser {
  readonly admin: Admin
  /** Undefined: all of them. */
  readonly sessionId: string | undefined
}

/**
 * Ends one session of a user, or all. The result is how many there were. Their access tokens stay valid until
 * they expire. With all sessions, auth codes and changes of address that wait end too, as at a sign-out:
 * exchanging a code opens a session, and a thief may have asked for the change.
 * @param runWork runs the work in the transaction, and makes the answer of its result
 * @throws userNotFound, listedSessionNotFound, and what `requireMayManage` of the admin throws
 */
export function endSessionsAsAdmin<Answer>(
  deps: Pick<AuthDeps, 'config' | 'db' | 'logger' | 'now'>,
  { admin, sessionId, ...managed }: EndSessionsAsAdminInput,
  runWork: RunWork<number, Answer>,
): Promise<Answer> {
  return transactAgain(deps.db, (trx) =>
    runWork(trx, deps, async () => {
      const user = await lockManagedUser(trx, managed, admin)
      const ended = await deleteListedSessions(trx, user.id, sessionId)
      if (sessionId === undefined) await endFlows(trx, user.id)
      else requireListedSession(ended)
      return ended
    }),
  )
}

async function endFlows(trx: Trx, userId: string): Promise<void> {
  await deleteFinishedFlows(trx, userId)
  await deletePendingChanges(trx, userId)
}
