import type { Pools } from '@trestle/database/pools.ts'
import { recordAudit } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import { recoveryCodesLocked, recoveryCodeWrong, recoveryVerifyDisabled } from '../factor-errors.ts'
import { FACTOR_METHODS, type Factor, requireFactor } from '../factors/factor.ts'
import {
  claimRecoveryCode,
  countRecoveryAttempt,
  findRecoveryFactor,
  hashRecoveryCode,
  hasRecoveryCode,
  normaliseRecoveryCode,
} from '../factors/recovery-code-repository.ts'
import { createFailedFactorChecks, type FailedCheckDeps, retryAfter } from '../rate-limits/rate-limits.ts'
import type { ServerKeys } from '../secrets/encrypted-secret.ts'
import { findCaller, lockCaller, requireFactorOwner, requireLiveSession } from '../sessions/active-caller.ts'
import type { IssuedSession, SessionOrigin } from '../sessions/session.ts'
import {
  type AttemptHookDeps,
  type FactorAttempt,
  judgeFactorAttempt,
  recordWrongFactor,
  type SessionView,
  type SessionViewDeps,
  signSessionView,
} from '../sessions/session-view.ts'
import { prepareStepUpClaims, type StepUpDeps, stepUpSession } from '../sessions/step-up.ts'
import type { TokenUser } from '../sessions/token-user.ts'

type VerifyRecoveryCodeDeps = AttemptHookDeps &
  FailedCheckDeps &
  StepUpDeps &
  SessionViewDeps & { readonly config: AuthConfig; readonly serverKeys: ServerKeys; readonly pools: Pools }

export interface VerifyRecoveryCodeInput extends SessionOrigin {
  readonly caller: TokenUser
  /** The code as typed. */
  readonly code: string
}

/** Steps a session up to aal2 with a recovery code and uses the code up (reference: Recovery codes). */
export async function verifyRecoveryCode(
  deps: VerifyRecoveryCodeDeps,
  input: VerifyRecoveryCodeInput,
): Promise<SessionView> {
  const { config, serverKeys } = deps
  if (!config.mfa.recoveryCodes.verifyEnabled) throw recoveryVerifyDisabled()
  const { user, session: own } = requireFactorOwner(await findCaller(deps, input.caller))
  await requireLiveSession(deps, { sessionId: own.id, userId: user.id })
  const factor = requireFactor(await findRecoveryFactor(deps.db, user.id))
  const code = normaliseRecoveryCode(input.code)
  const hashes = serverKeys.hmacs.map((key) => hashRecoveryCode(key, factor.id, code))
  const failedChecks = createFailedFactorChecks(deps, { identifier: user.id, client: input.ip }, factor.factorType)
  const traits = { factor_id: factor.id }
  const failure = {
    action: 'factor_verification_failed',
    actor: user,
    sessionId: own.id,
    ip: input.ip,
    traits,
  } as const
  const attempt = { factor, failedChecks, failure }
  if (await checkRecoveryCode(deps, { attempt, hashes })) {
    const claims = await prepareStepUpClaims(deps, { sessionId: own.id, method: FACTOR_METHODS.recovery_code })
    const session = await stepUpByRecoveryCode(deps, input, { factor, hashes })
    if (session) return signSessionView(deps, session, claims)
    // A code that another request has used counts as wrong.
    await recordWrongFactor(deps, attempt)
  }
  throw recoveryCodeWrong()
}

interface RecoveryCodeAttempt {
  readonly attempt: FactorAttempt
  readonly hashes: readonly Buffer[]
}

/** Counts an attempt at a code, compares it, and reports the outcome to the hook. */
async function checkRecoveryCode(
  deps: VerifyRecoveryCodeDeps,
  { attempt, hashes }: RecoveryCodeAttempt,
): Promise<boolean> {
  const factorId = attempt.factor.id
  const waitMs = await countRecoveryAttempt(deps.db, factorId, deps.now())
  if (waitMs !== undefined) throw recoveryCodesLocked(retryAfter(waitMs))
  const isRight = (await hasRecoveryCode(deps.db, { factorId, hashes })) && !(await attempt.failedChecks.isBlocked())
  await judgeFactorAttempt(deps, { ...attempt, isRight })
  return isRight
}

/** @returns `undefined` if the code is wrong or used */
async function stepUpByRecoveryCode(
  deps: Pick<VerifyRecoveryCodeDeps, 'config' | 'db' | 'logger' | 'now' | 'randomBytes'>,
  { caller, userAgent, ip }: VerifyRecoveryCodeInput,
  { factor, hashes }: Pick<RecoveryCodeAttempt, 'hashes'> & { readonly factor: Factor },
): Promise<IssuedSession | undefined> {
  return deps.db.transaction().execute(async (trx) => {
    const { user, session } = requireFactorOwner(await lockCaller(trx, deps, caller))
    const factorId = factor.id
    if (!(await claimRecoveryCode(trx, { factorId, hashes, now: deps.now() }))) return undefined
    const shown = { userId: user.id, sessionId: session.id, factorId, method: FACTOR_METHODS.recovery_code }
    const steppedUp = await stepUpSession(trx, deps, { ...shown, credentialSince: factor.createdAt, userAgent, ip })
    const traits = { factor_id: factorId }
    await recordAudit(trx, deps, { action: 'verification_attempted', actor: user, sessionId: session.id, ip, traits })
    return steppedUp
  })
}
