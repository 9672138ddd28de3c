import type { z } from 'zod'
import { type AuditActor, type AuditDeps, type AuditEvent, recordAudit } from '../audit/audit-log.ts'
import type { Db } from '../database.ts'
import { invalidCredentials } from '../errors.ts'
import { factorAttemptRejected, factorAttemptRejectedWith, passwordAttemptRejected } from '../external-errors.ts'
import type { Factor } from '../factors/factor.ts'
import { callEndSessionWork } from '../flows/session-work-repository.ts'
import { AttemptVerdict, type HookAnswer, LenientVerdict, requireHookAnswer } from '../hooks/hook-answer.ts'
import type { Hooks } from '../hooks/hooks.ts'
import type { FailedFactorChecks } from '../rate-limits/failed-checks.ts'
import { lockUserById } from '../users/user-repository.ts'
import { deleteSessionsOfUser } from './session-repository.ts'

/** The dependencies of the hooks of attempts. A rejection ends sessions in a transaction of its own. */
export interface AttemptHookDeps extends AuditDeps {
  readonly db: Db
  readonly hooks: Hooks
}

/** An attempt of a known user. */
interface Attempt {
  /** The entry of the audit log for the attempt, if it fails. */
  readonly failure: AuditEvent & { readonly actor: AuditActor & { readonly id: string } }
}

interface ComparedAttempt extends Attempt {
  readonly isRight: boolean
}

/** An answer to a second factor, and the counters that a wrong one adds to. */
export interface FactorAttempt extends Attempt {
  readonly factor: Pick<Factor, 'id' | 'factorType'>
  readonly failedChecks: FailedFactorChecks
}

/**
 * Reports a compared password, right or wrong, to the hook PASSWORD_VERIFICATION_ATTEMPT, and does what the hook decides. The
 * caller has recorded a wrong password.
 * @throws passwordAttemptRejected with the hook's message, or invalidCredentials, when the hook rejects; hookRejected,
 * hookTimeout, hookTimeoutAfterRetry, hookAnswerTooLong, hookAnswerNoJson, hookFailed
 */
export async function judgePasswordAttempt(deps: AttemptHookDeps, attempt: ComparedAttempt): Promise<void> {
  const { hooks } = deps
  if (!hooks.isOn('PASSWORD_VERIFICATION_ATTEMPT')) return
  const told = { user_id: attempt.failure.actor.id, valid: attempt.isRight }
  const call = () => hooks.call('PASSWORD_VERIFICATION_ATTEMPT', told)
  const { decision, message, should_logout_user: isSignedOut } = await askHook(deps, attempt, call)
  if (decision === 'continue') return
  if (isSignedOut) await endSessions(deps, attempt, 'PASSWORD_VERIFICATION_ATTEMPT')
  if (message) throw passwordAttemptRejected({ message })
  refusePassword()
}

/** Refuses a password without saying why. @throws invalidCredentials */
export function refusePassword(): never {
  throw invalidCredentials()
}

/**
 * Records a wrong answer to a factor, and reports the answer, right or wrong, to the hook MFA_VERIFICATION_ATTEMPT. A rejection
 * ends all sessions of the user.
 * @throws factorAttemptRejectedWith the hook's message, or factorAttemptRejected, when the hook rejects; hookRejected,
 * hookTimeout, hookTimeoutAfterRetry, hookAnswerTooLong, hookAnswerNoJson, hookFailed
 */
export async function judgeFactorAttempt(
  deps: AttemptHookDeps,
  attempt: FactorAttempt & ComparedAttempt,
): Promise<void> {
  const { hooks } = deps
  // Count a wrong answer before the hook is called, so that it counts whatever the hook answers, and however long that takes.
  if (!attempt.isRight) await recordWrongFactor(deps, attempt)
  if (!hooks.isOn('MFA_VERIFICATION_ATTEMPT')) return
  const { id: factor_id, factorType: factor_type } = attempt.factor
  const told = { user_id: attempt.failure.actor.id, factor_id, factor_type, valid: attempt.isRight }
  const { decision, message } = await askHook(deps, attempt, () => hooks.call('MFA_VERIFICATION_ATTEMPT', told))
  if (decision === 'continue') return
  await endSessions(deps, attempt, 'MFA_VERIFICATION_ATTEMPT')
  throw message ? factorAttemptRejectedWith({ message }) : factorAttemptRejected()
}

/** Counts a wrong answer to a factor, and records it in the audit log. */
export async function recordWrongFactor(
  deps: Pick<AttemptHookDeps, 'db' | keyof AuditDeps>,
  { failedChecks, failure }: FactorAttempt,
): Promise<void> {
  await failedChecks.record()
  await recordAudit(deps.db, deps, failure)
}

/** Asks a hook about an attempt. A right password or answer that the hook stops is recorded as a failure. */
async function askHook(
  deps: AttemptHookDeps,
  { isRight, failure }: ComparedAttempt,
  call: () => Promise<HookAnswer>,
): Promise<z.output<typeof AttemptVerdict>> {
  const verdict = deps.config.behaviours.continueWithoutHookDecision ? LenientVerdict : AttemptVerdict
  let isStopped = true
  try {
    const answer = requireHookAnswer(verdict, await call())
    isStopped = answer.decision !== 'continue'
    return answer
  } finally {
    if (isRight && isStopped) await recordAudit(deps.db, deps, failure)
  }
}

/** Ends all sessions of a user, as a global sign-out does, and records which hook has asked for that. */
async function endSessions(deps: AttemptHookDeps, { failure }: Attempt, hook: string): Promise<void> {
  const { actor, ip } = failure
  await deps.db.transaction().execute(async (trx) => {
    const user = await lockUserById(trx, actor.id)
    if (!user) return
    await deleteSessionsOfUser(trx, user.id)
    await callEndSessionWork(trx, user.id, { scope: 'all' })
    await recordAudit(trx, deps, { action: 'logout', actor: user, ip, traits: { hook } })
  })
}
