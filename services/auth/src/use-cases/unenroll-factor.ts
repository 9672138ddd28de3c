import { recordAudit } from '../audit/audit-log.ts'
import type { AuthDeps } from '../deps.ts'
import { factorNotFound, unenrollNeedsSecondFactor } from '../errors.ts'
import { deleteFactor, lockFactor } from '../factors/factor-repository.ts'
import { isEnrolled } from '../factors/factor-switches.ts'
import { notify } from '../mail/notification.ts'
import type { Caller } from '../sessions/caller.ts'
import { requireFactorOwner } from './factor-owner.ts'
import { lockCaller } from './find-caller.ts'

export interface UnenrollFactor {
  readonly caller: Caller
  readonly factorId: string
  /** For the audit trail. */
  readonly ip: string
}

/**
 * Takes a second factor away, for its owner; a verified one only in a session that has shown a second factor (contract 4.9).
 * @throws factorNotFound, unenrollNeedsSecondFactor
 */
export async function unenrollFactor(deps: AuthDeps, { caller, factorId, ip }: UnenrollFactor): Promise<void> {
  await deps.db.transaction().execute(async (trx) => {
    const { user, session } = requireFactorOwner(await lockCaller(trx, deps, caller))
    const factor = await lockFactor(trx, user.id, factorId)
    if (!factor || !isEnrolled(factor)) throw factorNotFound()
    const { factorType, status } = factor
    if (status === 'verified' && session.aal !== 'aal2') throw unenrollNeedsSecondFactor()
    await deleteFactor(trx, factor, deps.now())
    if (status === 'verified') {
      await notify(trx, deps, user, { name: 'MFA_FACTOR_UNENROLLED', variables: { FactorType: factorType } })
    }
    const traits = { factor_id: factorId, factor_status: status, session_id: session.id }
    await recordAudit(trx, deps, { action: 'factor_unenrolled', actor: user, sessionId: session.id, ip, traits })
  })
}
