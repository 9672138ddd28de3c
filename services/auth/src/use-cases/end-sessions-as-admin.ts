import { transactAgain } from '@trestle/database/again-when-lost.ts'
import type { AuditDeps, RunWork } from '../audit/audit-log.ts'
import type { Db } from '../database.ts'
import { type Admin, endSessionsByAdmin } from '../sessions/admin.ts'
import { requireListedSession } from '../sessions/session.ts'
import { lockManagedUser, type ManagedUser } from '../users/user-repository.ts'

export interface EndSessionsAsAdminInput extends ManagedUser {
  readonly admin: Admin
  /** Undefined: all of them. */
  readonly sessionId: string | undefined
  readonly ip: string
}

/**
 * Ends one session of a user, or all. The result is how many there were. Their access tokens stay valid until
 * they expire. What the ended sessions have started ends too, and so do the passkeys that they have registered.
 */
export function endSessionsAsAdmin<Answer>(
  deps: AuditDeps & { readonly db: Db },
  { admin, sessionId, ip, ...managed }: EndSessionsAsAdminInput,
  runWork: RunWork<number, Answer>,
): Promise<Answer> {
  return transactAgain(deps.db, (trx) =>
    runWork(trx, deps, async () => {
      const user = await lockManagedUser(trx, managed, admin)
      const ended = await endSessionsByAdmin(trx, deps, { admin, user, sessionId, ip })
      if (sessionId !== undefined) requireListedSession(ended)
      return ended
    }),
  )
}
