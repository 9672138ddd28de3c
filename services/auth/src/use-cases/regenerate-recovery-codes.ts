import { type AuditDeps, recordAudit } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import type { Db } from '../database.ts'
import { judgeRecoveryCodes, requireAllowed, requireRecoveryCodesEnabled } from '../factors/enrolment.ts'
import { requireFactor } from '../factors/factor.ts'
import {
  findRecoveryFactor,
  type IssueRecoveryCodesDeps,
  issueRecoveryCodes,
  type RecoveryCodes,
} from '../factors/recovery-code-repository.ts'
import { type NotifyDeps, notify } from '../messages/mail-job.ts'
import { lockCaller, requireFactorOwner, requireFreshSession } from '../sessions/active-caller.ts'
import type { TokenUser } from '../sessions/token-user.ts'

/** Replaces the recovery codes of a user (reference: Recovery codes). */
export async function regenerateRecoveryCodes(
  deps: AuditDeps & IssueRecoveryCodesDeps & NotifyDeps & { readonly config: AuthConfig; readonly db: Db },
  { caller, ip }: { readonly caller: TokenUser; readonly ip: string },
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
