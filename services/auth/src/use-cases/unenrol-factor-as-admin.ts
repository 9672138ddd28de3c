import { transactAgain } from '@trestle/database/again-when-lost.ts'
import { type AuditDeps, type RunWork, recordAudit } from '../audit/audit-log.ts'
import type { Db } from '../database.ts'
import { type Factor, requireFactor } from '../factors/factor.ts'
import { lockFactor } from '../factors/factor-repository.ts'
import { unenrolLockedFactor } from '../factors/recovery-code-repository.ts'
import { lockManagedUser } from '../users/user-repository.ts'
import type { ManagedFactor } from './change-factor-as-admin.ts'

/**
 * Unenrols a factor of a user. The result is the factor as it was.
 * @param runWork runs the work in the transaction, and makes the answer of its result
 * @throws userNotFound, consoleUserProtected, factorNotFound
 */
export async function unenrolFactorAsAdmin<Answer>(
  deps: AuditDeps & { readonly db: Db },
  { admin, factorId, ip, ...managed }: ManagedFactor,
  runWork: RunWork<Factor, Answer>,
): Promise<Answer> {
  return transactAgain(deps.db, (trx) =>
    runWork(trx, deps, async () => {
      const user = await lockManagedUser(trx, managed, admin)
      const factor = requireFactor(await lockFactor(trx, user.id, factorId))
      await unenrolLockedFactor(trx, deps, { userId: user.id, factor })
      const traits = { user_id: user.id, factor_id: factorId }
      await recordAudit(trx, deps, { action: 'factor_deleted', actor: admin.actor, target: user, ip, traits })
      return factor
    }),
  )
}
