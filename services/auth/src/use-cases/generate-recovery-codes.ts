import { randomUUID } from 'node:crypto'
import { type AuditDeps, recordAudit } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import type { Db, Trx } from '../database.ts'
import { recoveryCodesAlone, recoveryCodesExist } from '../factor-errors.ts'
import { isEnrolled, judgeRecoveryCodes, requireAllowed, requireRecoveryCodesEnabled } from '../factors/enrolment.ts'
import { type Factor, requireFactor, requireFreeName } from '../factors/factor.ts'
import { listFactors } from '../factors/factor-repository.ts'
import {
  countRecoveryCodes,
  findRecoveryFactor,
  type IssueRecoveryCodesDeps,
  insertRecoverySet,
  issueRecoveryCodes,
  type RecoveryCodes,
} from '../factors/recovery-code-repository.ts'
import { type NotifyDeps, notify } from '../messages/mail-job.ts'
import {
  type ActiveCallerDeps,
  type FactorOwner,
  findCaller,
  lockCaller,
  requireFactorOwner,
  requireFreshSession,
} from '../sessions/active-caller.ts'
import type { TokenUser } from '../sessions/token-user.ts'

type GenerateRecoveryCodesDeps = AuditDeps &
  IssueRecoveryCodesDeps &
  NotifyDeps & { readonly config: AuthConfig; readonly db: Db }

/** Generates a user's first set of recovery codes (reference: Recovery codes). */
export async function generateRecoveryCodes(
  deps: GenerateRecoveryCodesDeps,
  {
    caller,
    friendlyName,
    ip,
  }: {
    readonly caller: TokenUser
    /** The name of the set. It must differ from the names of the user's other factors. */
    readonly friendlyName: string
    readonly ip: string
  },
): Promise<RecoveryCodes> {
  requireRecoveryCodesEnabled(deps.config)
  return deps.db.transaction().execute(async (trx) => {
    const active = await lockCaller(trx, deps, caller)
    const owner = requireFactorOwner(active)
    const { user, session } = owner
    const factors = await listFactors(trx, user.id)
    const others = factors.filter(({ status }) => status === 'verified')
    if (!others.some(isEnrolled)) throw recoveryCodesAlone()
    requireAllowed(judgeRecoveryCodes(session.aal))
    if (!others.every(isEnrolled)) throw recoveryCodesExist()
    await requireFreshSession(trx, deps, active)
    requireFreeName(friendlyName, factors)
    const factor = await insertRecoveryFactor(trx, deps, owner, friendlyName)
    const codes = await issueRecoveryCodes(trx, deps, factor.id)
    await notify(trx, deps, user, { name: 'MFA_FACTOR_ENROLLED', variables: { FactorType: 'recovery_code' } })
    await notify(trx, deps, user, { name: 'RECOVERY_CODES_CREATED', variables: {} })
    const traits = { factor_id: factor.id, factor_type: factor.factorType }
    await recordAudit(trx, deps, { action: 'factor_in_progress', actor: user, sessionId: session.id, ip, traits })
    return { factor, codes }
  })
}

function insertRecoveryFactor(
  trx: Trx,
  { now }: Pick<GenerateRecoveryCodesDeps, 'now'>,
  { user }: FactorOwner,
  friendlyName: string,
): Promise<Factor> {
  const at = now()
  return insertRecoverySet(trx, {
    id: randomUUID(),
    user_id: user.id,
    friendly_name: friendlyName,
    codes_at: at,
    created_at: at,
    updated_at: at,
  })
}

/** Counts the caller's recovery codes: `total` in the set, `remaining` unused. */
export async function getRecoveryCodeCounts(
  deps: ActiveCallerDeps & { readonly db: Db },
  caller: TokenUser,
): Promise<{ readonly factor: Factor; readonly total: number; readonly remaining: number }> {
  const { user } = requireFactorOwner(await findCaller(deps, caller))
  const factor = requireFactor(await findRecoveryFactor(deps.db, user.id))
  return { factor, ...(await countRecoveryCodes(deps.db, factor.id)) }
}
