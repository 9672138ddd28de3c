import { randomUUID } from 'node:crypto'
import { recordAudit } from '../audit/audit-log.ts'
import type { Trx } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { recoveryCodesAlone, recoveryCodesExist, recoveryEnrolDisabled } from '../factor-errors.ts'
import { judgeRecoveryCodes, requireAllowed } from '../factors/enrolment.ts'
import { type Factor, requireFactor } from '../factors/factor.ts'
import { listFactors } from '../factors/factor-repository.ts'
import { isEnrolled } from '../factors/factor-switches.ts'
import { hashRecoveryCode, makeRecoveryCodes } from '../factors/recovery-code.ts'
import { findRecoveryFactor, insertRecoverySet, replaceRecoveryCodes } from '../factors/recovery-code-repository.ts'
import { requireFreeName } from '../factors/require-friendly-name.ts'
import { notify } from '../messages/notification.ts'
import { lockCaller, requireFreshSession } from '../sessions/active-caller.ts'
import type { Caller } from '../sessions/caller.ts'
import { type FactorOwner, requireFactorOwner } from '../sessions/require-owner.ts'

type GenerateRecoveryCodesDeps = Pick<
  AuthDeps,
  'config' | 'db' | 'logger' | 'now' | 'randomBytes' | 'serverKeys' | 'jobs'
>

/** The caller whose recovery codes are made. */
export interface GenerateRecoveryCodesInput {
  readonly caller: Caller
  /** The client's address, for the audit log. */
  readonly ip: string
}

/** A set of codes, which are shown this once. */
export interface RecoveryCodes {
  readonly factor: Factor
  readonly codes: readonly string[]
}

/**
 * Makes the first set of recovery codes of a user (reference: Recovery codes).
 * @throws recoveryEnrolDisabled, sessionNotFound, anonymousNotAllowed, recoveryCodesAlone, enrolNeedsSecondFactor,
 * recoveryCodesExist, factorNameTaken, signInTooOld, tokenUserNotFound, userBanned
 */
export async function generateRecoveryCodes(
  deps: GenerateRecoveryCodesDeps,
  { caller, friendlyName, ip }: GenerateRecoveryCodesInput & { readonly friendlyName: string },
): Promise<RecoveryCodes> {
  requireEnabled(deps)
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
    const codes = await issueCodes(trx, deps, factor)
    await notify(trx, deps, user, { name: 'MFA_FACTOR_ENROLLED', variables: { FactorType: 'recovery_code' } })
    const traits = { factor_id: factor.id, factor_type: factor.factorType }
    await recordAudit(trx, deps, { action: 'factor_in_progress', actor: user, sessionId: session.id, ip, traits })
    return { factor, codes }
  })
}

/**
 * Replaces the recovery codes of a user.
 * @throws factorNotFound where there are none, recoveryEnrolDisabled, enrolNeedsSecondFactor, signInTooOld,
 * tokenUserNotFound, userBanned, sessionNotFound, anonymousNotAllowed
 */
export async function regenerateRecoveryCodes(
  deps: Pick<AuthDeps, 'config' | 'db' | 'logger' | 'now' | 'randomBytes' | 'serverKeys'>,
  { caller, ip }: GenerateRecoveryCodesInput,
): Promise<RecoveryCodes> {
  requireEnabled(deps)
  return deps.db.transaction().execute(async (trx) => {
    const active = await lockCaller(trx, deps, caller)
    const { user, session } = requireFactorOwner(active)
    const factor = requireFactor(await findRecoveryFactor(trx, user.id))
    requireAllowed(judgeRecoveryCodes(session.aal))
    await requireFreshSession(trx, deps, active)
    const codes = await issueCodes(trx, deps, factor)
    const traits = { factor_id: factor.id }
    await recordAudit(trx, deps, { action: 'factor_updated', actor: user, sessionId: session.id, ip, traits })
    return { factor, codes }
  })
}

function requireEnabled({ config }: Pick<AuthDeps, 'config'>): void {
  if (!config.mfa.recoveryCodes.enrolEnabled) throw recoveryEnrolDisabled()
}

function insertRecoveryFactor(
  trx: Trx,
  { now }: Pick<AuthDeps, 'now'>,
  { user }: FactorOwner,
  friendlyName: string,
): Promise<Factor> {
  const at = now()
  return insertRecoverySet(trx, {
    id: randomUUID(),
    user_id: user.id,
    friendly_name: friendlyName,
    created_at: at,
    updated_at: at,
  })
}

async function issueCodes(
  trx: Trx,
  { now, randomBytes, serverKeys }: Pick<AuthDeps, 'now' | 'randomBytes' | 'serverKeys'>,
  { id: factorId }: Factor,
): Promise<readonly string[]> {
  const codes = makeRecoveryCodes(randomBytes)
  const hashes = codes.map((code) => hashRecoveryCode(serverKeys.hmac, factorId, code))
  await replaceRecoveryCodes(trx, { factorId, hashes, now: now() })
  return codes
}
