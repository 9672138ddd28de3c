import { transactAgain } from '@trestle/database/again-when-lost.ts'
import { violates } from '@trestle/database/violations.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type AuditDeps, type RunWork, recordAudit } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import type { Db } from '../database.ts'
import { refuseTakenPhone } from '../factors/enrolment.ts'
import { type Factor, requireFactor, requireFreeName } from '../factors/factor.ts'
import { FACTOR_PHONE_KEY, listFactors, lockFactor, updateFactor } from '../factors/factor-repository.ts'
import { unenrolLockedFactor } from '../factors/recovery-code-repository.ts'
import type { Admin } from '../sessions/admin.ts'
import { requireFactorPhone } from '../users/require-phone.ts'
import { lockManagedUser, type ManagedUser } from '../users/user-repository.ts'

export interface ManagedFactor extends ManagedUser {
  readonly admin: Admin
  readonly factorId: string
  readonly ip: string
}

/** The changes of a factor. `undefined` members do not change. */
interface ChangeFactorAsAdminInput extends ManagedFactor {
  readonly friendlyName: string | undefined
  /** The phone as typed. Ignored for factors of other types. */
  readonly phone: string | undefined
}

export async function changeFactorAsAdmin(
  deps: AuditDeps & { readonly config: AuthConfig; readonly db: Db; readonly names: Names },
  { admin, factorId, ip, friendlyName, phone, ...managed }: ChangeFactorAsAdminInput,
): Promise<Factor> {
  const changing = transactAgain(deps.db, async (trx) => {
    const user = await lockManagedUser(trx, managed, admin)
    const factor = requireFactor(await lockFactor(trx, user.id, factorId))
    const others = (await listFactors(trx, user.id)).filter(({ id }) => id !== factor.id)
    requireFreeName(friendlyName ?? '', others)
    const typed = phone === undefined ? undefined : { userId: user.id, typed: phone }
    const read = typed && (await requireFactorPhone({ ...deps, db: trx }, typed))
    const newPhone = factor.factorType === 'phone' ? read : undefined
    const changed = await updateFactor(trx, factor, { friendlyName, phone: newPhone, now: deps.now() })
    const traits = { user_id: user.id, factor_id: factorId }
    await recordAudit(trx, deps, { action: 'factor_updated', actor: admin.actor, target: user, ip, traits })
    return changed
  })
  return changing.catch((error: unknown) => {
    if (violates(error, deps.names, FACTOR_PHONE_KEY)) refuseTakenPhone()
    throw error
  })
}

/** Unenrols a factor of a user. The result is the factor in its last state. */
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
