import { violates } from '@trestle/database/violations.ts'
import { type AuditAction, recordAudit } from '../audit/audit-log.ts'
import type { Trx } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { dropFactor } from '../factors/drop-factor.ts'
import { refuseTakenPhone } from '../factors/enrolment.ts'
import { type Factor, requireFactor } from '../factors/factor.ts'
import { FACTOR_PHONE_KEY, listFactors, lockFactor, updateFactor } from '../factors/factor-repository.ts'
import { requireFreeName } from '../factors/require-friendly-name.ts'
import type { Admin } from '../sessions/admin.ts'
import { lockManagedUser, type ManagedUser } from '../users/user-repository.ts'

type ChangeFactorDeps = Pick<AuthDeps, 'config' | 'db' | 'names' | 'logger' | 'now'>

type FactorDeps = Pick<AuthDeps, 'config' | 'db' | 'logger' | 'now'>

/** A second factor of a user, and the admin who changes it. */
export interface ManagedFactor extends ManagedUser {
  readonly admin: Admin
  readonly factorId: string
  /** The client's address, for the audit log. */
  readonly ip: string
}

/** Undefined members stay as they are. */
export interface FactorChanges {
  readonly friendlyName: string | undefined
  /** Normalised: its digits. Ignored for factors of other types. */
  readonly phone: string | undefined
}

/** Renames a factor of a user, or changes its phone. @throws userNotFound, factorNotFound, factorNameTaken, phoneFactorExists */
export async function changeFactor(
  deps: ChangeFactorDeps,
  managed: ManagedFactor,
  changes: FactorChanges,
): Promise<Factor> {
  const { friendlyName, phone } = changes
  try {
    return await changeLockedFactor(deps, { ...managed, action: 'factor_updated' }, async (trx, factor) => {
      const others = (await listFactors(trx, managed.userId)).filter(({ id }) => id !== factor.id)
      requireFreeName(friendlyName ?? '', others)
      return updateFactor(trx, factor, {
        friendlyName,
        phone: factor.factorType === 'phone' ? phone : undefined,
        now: deps.now(),
      })
    })
  } catch (error) {
    if (violates(error, deps.names, FACTOR_PHONE_KEY)) refuseTakenPhone()
    throw error
  }
}

/** Removes a factor of a user. @returns the factor as it was @throws userNotFound, factorNotFound */
export function removeFactor(deps: FactorDeps, managed: ManagedFactor): Promise<Factor> {
  return changeLockedFactor(deps, { ...managed, action: 'factor_deleted' }, async (trx, factor) => {
    await dropFactor(trx, deps, { userId: managed.userId, factor })
    return factor
  })
}

async function changeLockedFactor(
  deps: FactorDeps,
  { admin, factorId, ip, action, ...managed }: ManagedFactor & { readonly action: AuditAction },
  change: (trx: Trx, factor: Factor) => Promise<Factor>,
): Promise<Factor> {
  return deps.db.transaction().execute(async (trx) => {
    const user = await lockManagedUser(trx, managed)
    const factor = requireFactor(await lockFactor(trx, user.id, factorId))
    const changed = await change(trx, factor)
    const traits = { user_id: user.id, factor_id: factorId }
    await recordAudit(trx, deps, { action, actor: admin.actor, target: user, ip, traits })
    return changed
  })
}
