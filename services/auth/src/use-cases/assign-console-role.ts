import { transactAgain } from '@trestle/database/again-when-lost.ts'
import type { OperatorRole } from '@trestle/operators/operator-roles.ts'
import { type AuditDeps, adminTraits, type RunWork, recordAudit } from '../audit/audit-log.ts'
import type { Db } from '../database.ts'
import { deleteTokensOfUser } from '../one-time-tokens/one-time-token-repository.ts'
import { type Admin, endSessionsByAdmin } from '../sessions/admin.ts'
import { getProfile, type Profile } from '../users/profile-repository.ts'
import { requireUser } from '../users/user.ts'
import { updateUser } from '../users/user-change-repository.ts'
import { lockManagedUser, type ManagedUser } from '../users/user-repository.ts'

export interface AssignConsoleRoleInput extends ManagedUser {
  readonly admin: Admin
  /** `null` removes the role. */
  readonly role: OperatorRole | null
  readonly ip: string
}

/**
 * Assigns, changes or removes a user's console role (console reference: Console roles in auth). All sessions of the user end,
 * because their access tokens contain the former role. Pending links and codes end too, because an attacker may have requested
 * them. Assigning the same role again changes nothing.
 */
export async function assignConsoleRole<Answer>(
  deps: AuditDeps & { readonly db: Db },
  { admin, role, ip, ...managed }: AssignConsoleRoleInput,
  runWork: RunWork<Profile, Answer>,
): Promise<Answer> {
  return transactAgain(deps.db, (trx) =>
    runWork(trx, deps, async () => {
      const named = await lockManagedUser(trx, managed, admin)
      const user = requireUser(named.deletedAt === null ? named : undefined)
      if (user.consoleRole === role) return getProfile(trx, user.id)
      await updateUser(trx, user.id, { console_role: role, updated_at: deps.now() })
      await endSessionsByAdmin(trx, deps, { admin, user, ip })
      await deleteTokensOfUser(trx, user.id)
      const traits = { ...adminTraits(user), console_role: role }
      await recordAudit(trx, deps, { action: 'user_modified', actor: admin.actor, target: user, ip, traits })
      return getProfile(trx, user.id)
    }),
  )
}
