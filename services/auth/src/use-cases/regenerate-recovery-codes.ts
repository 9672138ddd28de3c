import { recordAudit } from '../audit/audit-log.ts'
import type { AuthDeps } from '../deps.ts'
import { judgeRecoveryCodes, requireAllowed } from '../factors/enrolment.ts'
import { requireFactor } from '../factors/factor.ts'
import { requireRecoveryCodesEnabled } from '../factors/factor-switches.ts'
import { issueRecoveryCodes } from '../factors/issue-recovery-codes.ts'
import type { RecoveryCodes } from '../factors/recovery-code.ts'
import { findRecoveryFactor } from '../factors/recovery-code-repository.ts'
import { notify } from '../messages/notification.ts'
import { lockCaller, requireFreshSession } from '../sessions/active-caller.ts'
import { requireFactorOwner } from '../sessions/require-owner.ts'
import type { TokenUser } from '../sessions/token-user.ts'

/** The caller whose recovery codes are replaced. */
export interface RegenerateRecoveryCodesInput {
  readonly caller: TokenUser
  /** The client's address, for the audit log. */
  readonly ip: string
}
/**
 * Replaces the recovery codes of a user (reference: Recovery codes).
 * @throws factorNotFound where there are none, recoveryEnrolDisabled, enrolNeedsSecondFactor, signInTooOld,
 * tokenUserNotFound, userBanned, sessionNotFound, anonymousNotAllowed
 */
export async function regenerateRecoveryCodes(
  deps: Pick<AuthDeps, 'config' | 'db' | 'logger' | 'now' | 'randomBytes' | 'serverKeys' | 'jobs'>,
  { caller, ip }: RegenerateRecoveryCodesInput,
): Promise<RecoveryCodes> {
  requireRecoveryCodesEnabled(deps.config)
  return deps.db.transaction().execute(async (trx) => {
    const active = await lockCaller(trx, deps, caller)
    const { user, session } = requireFactorOwner(active)
    const factor = requireFactor(await findRecoveryFactor(trx, user.id))
    requireAllowed(judgeRecoveryCodes(session.aal))
    await requireFreshSession(trx, deps, active)
    const codes = await issueRecoveryCodes(trx, deps, factor.id)
    await notify(trx, deps, user, { name: 'RECOVERY_CODES_CREATED', variables: {} })
    const traits = { factor_id: factor.id }
    await recordAudit(trx, deps, { action: 'factor_updated', actor: user, sessionId: session.id, ip, traits })
    return { factor, codes }
  })
}
