import { type AuditDeps, recordAudit } from '../audit/audit-log.ts'
import type { Db } from '../database.ts'
import { invalidCredentials } from '../errors.ts'
import { factorAttemptRejected, factorAttemptRejectedWith, passwordAttemptRejected } from '../external-errors.ts'
import type { Factor } from '../factors/factor.ts'
import { callEndSessionWork } from '../flows/session-work-repository.ts'
import { AttemptVerdict, LenientVerdict, requireHookAnswer } from '../hooks/hook-answer.ts'
import type { Hooks } from '../hooks/hooks.ts'
import { lockUserById } from '../users/user-repository.ts'
import { deleteSessionsOfUser } from './session-repository.ts'

/** The dependencies of the hooks of attempts. A rejection ends sessions in a transaction of its own. */
export interface AttemptHookDeps extends AuditDeps {
  readonly db: Db
  readonly hooks: Hooks
}

/** How an attempt went, and the client's address, for the audit log. */
interface Attempt {
  readonly isRight: boolean
  readonly ip: string
}

/**
 * Reports a compared password, right or wrong, to the hook PASSWORD_VERIFICATION_ATTEMPT, and does what the hook decides.
 * @throws passwordAttemptRejected with the hook's message, or invalidCredentials, when the hook rejects; hookRejected,
 * hookTimeout, hookTimeoutAfterRetry, hookAnswerTooLong, hookAnswerNoJson, hookFailed
 */
export async function judgePasswordAttempt(
  deps: AttemptHookDeps,
  userId: string,
  { isRight, ip }: Attempt,
): Promise<void> {
  const { hooks } = deps
  if (!hooks.isOn('PASSWORD_VERIFICATION_ATTEMPT')) return
  const answer = await hooks.call('PASSWORD_VERIFICATION_ATTEMPT', { user_id: userId, valid: isRight })
  const { decision, message, should_logout_user: isSignedOut } = requireHookAnswer(verdictOf(deps), answer)
  if (decision === 'continue') return
  if (isSignedOut) await endSessions(deps, userId, { hook: 'PASSWORD_VERIFICATION_ATTEMPT', ip })
  if (message) throw passwordAttemptRejected({ message })
  refusePassword()
}

/** Refuses a password without saying why. @throws invalidCredentials */
export function refusePassword(): never {
  throw invalidCredentials()
}

/**
 * Reports the answer of a factor to the hook MFA_VERIFICATION_ATTEMPT. A rejection ends all sessions of the user.
 * @throws factorAttemptRejectedWith the hook's message, or factorAttemptRejected, when the hook rejects; hookRejected,
 * hookTimeout, hookTimeoutAfterRetry, hookAnswerTooLong, hookAnswerNoJson, hookFailed
 */
export async function judgeFactorAttempt(
  deps: AttemptHookDeps,
  userId: string,
  { factor, isRight, ip }: Attempt & { readonly factor: Pick<Factor, 'id' | 'factorType'> },
): Promise<void> {
  const { hooks } = deps
  if (!hooks.isOn('MFA_VERIFICATION_ATTEMPT')) return
  const { id: factor_id, factorType: factor_type } = factor
  const attempt = { user_id: userId, factor_id, factor_type, valid: isRight }
  const answer = await hooks.call('MFA_VERIFICATION_ATTEMPT', attempt)
  const { decision, message } = requireHookAnswer(verdictOf(deps), answer)
  if (decision === 'continue') return
  await endSessions(deps, userId, { hook: 'MFA_VERIFICATION_ATTEMPT', ip })
  throw message ? factorAttemptRejectedWith({ message }) : factorAttemptRejected()
}

function verdictOf({ config }: Pick<AttemptHookDeps, 'config'>): typeof AttemptVerdict | typeof LenientVerdict {
  return config.behaviours.continueWithoutHookDecision ? LenientVerdict : AttemptVerdict
}

/** Ends all sessions of a user, as a global sign-out does, and records which hook has asked for that. */
async function endSessions(
  deps: AttemptHookDeps,
  userId: string,
  { hook, ip }: Pick<Attempt, 'ip'> & { readonly hook: string },
): Promise<void> {
  await deps.db.transaction().execute(async (trx) => {
    const user = await lockUserById(trx, userId)
    if (!user) return
    await deleteSessionsOfUser(trx, userId)
    await callEndSessionWork(trx, userId, { scope: 'all' })
    await recordAudit(trx, deps, { action: 'logout', actor: user, ip, traits: { hook } })
  })
}
