import { type AuditDeps, recordAudit } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import type { Db } from '../database.ts'
import { unenrolNeedsSecondFactor } from '../factor-errors.ts'
import { requireEnrolled } from '../factors/enrolment.ts'
import { requireFactor } from '../factors/factor.ts'
import { lockFactor } from '../factors/factor-repository.ts'
import { findRecoveryFactor, unenrolLockedFactor } from '../factors/recovery-code-repository.ts'
import { type NotifyDeps, notify } from '../messages/notification.ts'
import { lockCaller, requireFactorOwner, requireFreshSession } from '../sessions/active-caller.ts'
import type { TokenUser } from '../sessions/token-user.ts'

/**
 * Unenrols a second factor of the caller; a verified one only in a session that has shown a second factor
 * (reference: Unenrolment).
 * @returns its id
 * @throws factorNotFound, unenrolNeedsSecondFactor, signInTooOld, tokenUserNotFound, userBanned, sessionNotFound,
 * anonymousNotAllowed
 */
export async function unenrolFactor(
  deps: AuditDeps & NotifyDeps & { readonly config: AuthConfig; readonly db: Db },
  {
    caller,
    which,
    ip,
  }: {
    readonly caller: TokenUser
    /** `recovery-codes`: the factor of all recovery codes, which its URL names without an id. */
    readonly which: { readonly factorId: string } | 'recovery-codes'
    readonly ip: string
  },
): Promise<string> {
  return deps.db.transaction().execute(async (trx) => {
    const active = await lockCaller(trx, deps, caller)
    const { user, session } = requireFactorOwner(active)
    const factor =
      which === 'recovery-codes'
        ? requireFactor(await findRecoveryFactor(trx, user.id))
        : requireEnrolled(await lockFactor(trx, user.id, which.factorId))
    const { id, factorType, status } = factor
    if (status === 'verified' && session.aal !== 'aal2') throw unenrolNeedsSecondFactor()
    if (status === 'verified') await requireFreshSession(trx, deps, active)
    await unenrolLockedFactor(trx, deps, { userId: user.id, factor })
    if (status === 'verified') {
      await notify(trx, deps, user, { name: 'MFA_FACTOR_UNENROLLED', variables: { FactorType: factorType } })
    }
    const traits = { factor_id: id, factor_status: status, session_id: session.id }
    await recordAudit(trx, deps, { action: 'factor_unenrolled', actor: user, sessionId: session.id, ip, traits })
    return id
  })
}
