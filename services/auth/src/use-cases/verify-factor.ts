import type { Transaction } from 'kysely'
import { recordAudit } from '../audit/audit-log.ts'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { sessionNotFound } from '../errors.ts'
import {
  challengeExpired,
  challengeMismatch,
  challengeNotFound,
  enrollNeedsSecondFactor,
  factorNotFound,
  tooManyFactors,
} from '../factor-errors.ts'
import { type Challenge, judgeChallenge } from '../factors/challenge.ts'
import {
  claimChallengeGuess,
  consumeChallenge,
  deleteChallenge,
  findChallenge,
} from '../factors/challenge-repository.ts'
import { judgeActivation } from '../factors/enrollment.ts'
import { FACTOR_METHODS, type Factor } from '../factors/factor.ts'
import {
  acceptFactor,
  claimFactorGuess,
  deleteUnverifiedFactors,
  type FactorWithSecrets,
  findFactor,
  listFactors,
} from '../factors/factor-repository.ts'
import { type EnrolledType, isEnrolled, requireVerifyEnabled } from '../factors/factor-switches.ts'
import { type FactorAnswer, type FactorProof, proveFactor, refuseProof } from '../factors/proof.ts'
import { deleteFinishedFlows } from '../flows/flow-repository.ts'
import { notify } from '../messages/notification.ts'
import { factorFailuresOf } from '../rate-limits/failed-attempts.ts'
import { findCaller, lockCaller } from '../sessions/active-caller.ts'
import type { Caller } from '../sessions/caller.ts'
import { requireLiveSession } from '../sessions/live-session.ts'
import { raiseSession } from '../sessions/raise-session.ts'
import type { IssuedSession, SessionOrigin } from '../sessions/session.ts'
import { type SessionView, signSessionView } from '../sessions/session-view.ts'
import { deletePendingChanges } from '../users/pending-change-repository.ts'
import { type FactorOwner, requireFactorOwner } from './factor-owner.ts'
import { judgeFactorAttempt } from './judge-attempt.ts'
import { prepareRaisedClaims } from './prepare-raised-claims.ts'

export interface VerifyFactor extends SessionOrigin {
  readonly caller: Caller
  readonly factorId: string
  readonly challengeId: string
  readonly answer: FactorAnswer
  /** The client's address, as far as limits may believe it. */
  readonly address: string
  /** By which the owner may be known; undefined where everybody may share it. */
  readonly network: string | undefined
}

/** A challenge, and the factor that it asks. */
interface Asked {
  readonly factor: FactorWithSecrets & { readonly factorType: EnrolledType }
  readonly challenge: Challenge
}

/**
 * Takes the answer to a challenge and raises the session to aal2 (reference: Proof of a factor). The answer is compared
 * without a lock; then one transaction uses the challenge up, accepts the factor and promotes the session, or does
 * nothing.
 */
export async function verifyFactor(deps: AuthDeps, input: VerifyFactor): Promise<SessionView> {
  const { user, session: own } = requireFactorOwner(await findCaller(deps, input.caller))
  await requireLiveSession(deps, { sessionId: own.id, userId: user.id })
  const asked = await findAsked(deps, user.id, input)
  const left = await claimChallengeGuess(deps.db, asked.challenge.id, deps.config.security.codeAttemptsMax)
  if (left === undefined) throw challengeNotFound()
  const attempt = { identifier: user.id, address: input.address }
  const failures = factorFailuresOf(deps, attempt, asked.factor.factorType)
  const mayGuess = await claimFactorGuess(
    deps.db,
    { ...asked.factor, userId: user.id },
    { now: deps.now(), network: input.network },
  )
  const proof = await proveFactor(deps, asked, input.answer)
  // Asked after the comparison: of many guesses that come at once, the later ones meet the failures of the first. And a
  // failure counts before the hook hears of it, whatever that says and however long it takes.
  const blocked = (await failures.isBlocked()) || !mayGuess
  const isRight = proof !== undefined && !blocked
  if (!isRight) await failures.record()
  await judgeFactorAttempt(deps, user.id, { factor: asked.factor, isRight })
  if (isRight) {
    const claims = await prepareRaisedClaims(deps, {
      sessionId: own.id,
      method: FACTOR_METHODS[asked.factor.factorType],
    })
    const session = await deps.db.transaction().execute((trx) => accept(trx, deps, input, { ...asked, proof }))
    if (session) return signSessionView(deps, session, claims)
    await failures.record()
  }
  if (left === 0) await deleteChallenge(deps.db, asked.challenge.id)
  throw refuseProof(asked.factor)
}

async function findAsked(
  { config, db, now }: Pick<AuthDeps, 'config' | 'db' | 'now'>,
  userId: string,
  { factorId, challengeId, ip }: VerifyFactor,
): Promise<Asked> {
  const factor = await findFactor(db, userId, factorId)
  if (!factor || !isEnrolled(factor)) throw factorNotFound()
  requireVerifyEnabled(config, factor.factorType)
  const challenge = await findChallenge(db, { id: challengeId, factorId, ip })
  if (!challenge) throw challengeNotFound()
  const verdict = judgeChallenge(challenge, now(), config.mfa.challengeLifetimeSeconds)
  if (verdict === 'mismatch') throw challengeMismatch()
  if (verdict === 'expired') {
    await deleteChallenge(db, challenge.id)
    throw challengeExpired({
      message: `MFA challenge ${challenge.id} has expired, verify against another challenge or create a new challenge.`,
    })
  }
  return { factor, challenge }
}

/** @returns undefined for a proof that was used before */
async function accept(
  trx: Transaction<AuthDatabase>,
  deps: AuthDeps,
  { caller, userAgent, ip }: VerifyFactor,
  { factor, challenge, proof }: Asked & { readonly proof: FactorProof },
): Promise<IssuedSession | undefined> {
  const now = deps.now()
  const owner = requireFactorOwner(await lockCaller(trx, deps, caller))
  const { user, session } = owner
  const factors = await listFactors(trx, user.id)
  const current = factors.find(({ id }) => id === factor.id)
  if (!current) throw factorNotFound()
  const isFirst = current.status === 'unverified'
  if (isFirst) requireActivation(deps, owner, factors)
  // In this order: a code that was taken before leaves the challenge open for the next one.
  if (!(await acceptFactor(trx, { id: factor.id, now, ...proof }))) return undefined
  if (!(await consumeChallenge(trx, challenge.id, now))) throw challengeMismatch()
  const { factorType } = factor
  await deleteUnverifiedFactors(trx, { userId: user.id, factorType })
  const method = FACTOR_METHODS[factorType]
  const shown = { userId: user.id, sessionId: session.id, factorId: factor.id, method, userAgent, ip }
  // Until its first proof the factor guards nothing, however long it waited for that.
  const promoted = await raiseSession(trx, deps, { ...shown, credentialSince: isFirst ? now : current.createdAt })
  if (!promoted) throw sessionNotFound()
  // Sessions that have not shown it have just ended, and a code would open another one.
  if (isFirst) await deleteFinishedFlows(trx, user.id)
  // Asked for without a factor, they would go around it. At aal2 they are the user's own.
  if (isFirst && session.aal !== 'aal2') await deletePendingChanges(trx, user.id)
  if (isFirst) await notify(trx, deps, user, { name: 'MFA_FACTOR_ENROLLED', variables: { FactorType: factorType } })
  const traits = { factor_id: factor.id, challenge_id: challenge.id }
  await recordAudit(trx, deps, { action: 'verification_attempted', actor: user, sessionId: session.id, ip, traits })
  return promoted
}

/** Whoever has only the password must not put a factor of their own beside the user's. */
function requireActivation({ config }: Pick<AuthDeps, 'config'>, { session }: FactorOwner, factors: readonly Factor[]) {
  const verdict = judgeActivation(factors, session.aal, config.mfa)
  if (verdict === 'too-many') throw tooManyFactors()
  if (verdict === 'needs-aal2') throw enrollNeedsSecondFactor()
}
