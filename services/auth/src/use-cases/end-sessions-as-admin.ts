import { transactAgain } from '@trestle/database/again-when-lost.ts'
import type { AuditDeps, RunWork } from '../audit/audit-log.ts'
import type { Db } from '../database.ts'
import { type Admin, endSessionsByAdmin } from '../sessions/admin.ts'
import { requireListedSession } from '../sessions/session.ts'
import { lockManagedUser, type ManagedUser } from '../users/user-repository.ts'

export interface EndSessionsAsAdminInput extends ManagedUser {
  readonly admin: Admin
  /** `undefined` for all sessions. */
  readonly sessionId: string | undefined
  readonly ip: string
}

/**
 * Ends one or all sessions of a user. The result is their number. Access tokens stay valid until they expire. Flows that the
 * sessions have started end too, and so do passkeys that they have registered.
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
