import type { Pools } from '@trestle/database/pools.ts'
import { recordAudit } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import type { Trx } from '../database.ts'
import {
  challengeExpired,
  challengeMismatch,
  phoneFactorCodeWrong,
  totpCodeWrong,
  webauthnFactorWrong,
} from '../factor-errors.ts'
import {
  type EnrolledType,
  findTotpStep,
  isUsable,
  judgeActivation,
  readTotpSecret,
  requireAllowed,
  requireEnrolled,
  requireVerifyEnabled,
} from '../factors/enrolment.ts'
import { type Challenge, FACTOR_METHODS, judgeChallenge, requireChallenge, requireFactor } from '../factors/factor.ts'
import {
  claimChallenge,
  claimFactorAnswer,
  countChallengeAttempt,
  countFactorAttempt,
  deleteChallenge,
  deleteUnverifiedFactors,
  type FactorWithSecrets,
  findChallenge,
  findFactor,
  listFactors,
} from '../factors/factor-repository.ts'
import { callEndSessionWork, deleteFinishedFlows } from '../flows/flow-repository.ts'
import { type NotifyDeps, notify } from '../messages/mail-job.ts'
import { matchesFactorSms } from '../messages/sms-code.ts'
import { type CeremonyDeps, verifyAssertion, verifyCreation } from '../passkeys/ceremony.ts'
import type { Assertion, Registration, StoredCredential } from '../passkeys/credential.ts'
import { createFailedFactorChecks, type FailedCheckDeps } from '../rate-limits/rate-limits.ts'
import type { EncryptionKeys, ServerKeys } from '../secrets/encrypted-secret.ts'
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

type VerifyFactorDeps = AttemptHookDeps &
  CeremonyDeps &
  FailedCheckDeps &
  SessionViewDeps &
  NotifyDeps &
  StepUpDeps & {
    readonly config: AuthConfig
    readonly serverKeys: ServerKeys
    readonly pools: Pools
    readonly encryptionKeys: EncryptionKeys
  }

/** A client's answer to a challenge. */
export type FactorAnswer =
  | { readonly kind: 'code'; readonly code: string }
  | { readonly kind: 'registration'; readonly response: Registration }
  | { readonly kind: 'assertion'; readonly response: Assertion }

export interface VerifyFactorInput extends SessionOrigin {
  readonly caller: TokenUser
  readonly factorId: string
  readonly challengeId: string
  readonly answer: FactorAnswer
  /** The client's network, which may identify the owner. `undefined` if all clients may share it. */
  readonly network: string | undefined
}

interface ChallengedFactor {
  readonly factor: FactorWithSecrets & { readonly factorType: EnrolledType }
  readonly challenge: Challenge
}

/**
 * Verifies the answer to a challenge and steps the session up to aal2 (reference: Proof of a factor). Compares the answer without
 * a lock. Then one transaction uses up the challenge, accepts the factor and steps the session up, or changes nothing.
 */
export async function verifyFactor(deps: VerifyFactorDeps, input: VerifyFactorInput): Promise<SessionView> {
  const { user, session: own } = requireFactorOwner(await findCaller(deps, input.caller))
  await requireLiveSession(deps, { sessionId: own.id, userId: user.id })
  const challenged = await findChallengedFactor(deps, user.id, input)
  const { challenge, factor } = challenged
  const attemptsMax = deps.config.security.codeAttemptsMax
  const attemptsLeft = requireChallenge(await countChallengeAttempt(deps.db, challenge.id, attemptsMax))
  const failedChecks = createFailedFactorChecks(deps, { identifier: user.id, client: input.ip }, factor.factorType)
  const traits = { factor_id: factor.id, challenge_id: challenge.id }
  const acting = { actor: user, sessionId: own.id, ip: input.ip, traits }
  const attempt = { factor, failedChecks, failure: { ...acting, action: 'factor_verification_failed' } } as const
  const right = await checkFactor(deps, input, { challenged, attempt })
  const steppedUp = right && (await stepUpByAnswer(deps, input, { ...challenged, right, sessionId: own.id }))
  if (steppedUp) return steppedUp
  // A correct answer that another request has used counts as wrong.
  if (right) await recordWrongFactor(deps, attempt)
  if (attemptsLeft === 0) await deleteChallenge(deps.db, challenge.id)
  return refuseAnswer(factor.factorType)
}

/**
 * Counts an attempt at a factor, compares the answer, and reports the outcome to the hook.
 * @returns `undefined` if the answer is wrong, or counts as wrong after too many attempts
 */
async function checkFactor(
  deps: VerifyFactorDeps,
  { answer, network }: VerifyFactorInput,
  { challenged, attempt }: { readonly challenged: ChallengedFactor; readonly attempt: FactorAttempt },
): Promise<RightAnswer | undefined> {
  const userId = attempt.failure.actor.id
  const mayAttempt = await countFactorAttempt(deps.db, { ...challenged.factor, userId }, { now: deps.now(), network })
  const right = await compareAnswer(deps, challenged, answer)
  // Check the limit after the comparison, so that concurrent attempts see each other's failed checks.
  const isBlocked = (await attempt.failedChecks.isBlocked()) || !mayAttempt
  const counted = isBlocked ? undefined : right
  await judgeFactorAttempt(deps, { ...attempt, isRight: counted !== undefined })
  return counted
}

type AnsweredFactor = ChallengedFactor & { readonly right: RightAnswer }

/** Uses up a correct answer and steps the session up. @returns `undefined` if the answer was used before */
async function stepUpByAnswer(
  deps: VerifyFactorDeps,
  input: VerifyFactorInput,
  answered: AnsweredFactor & { readonly sessionId: string },
): Promise<SessionView | undefined> {
  const { sessionId, factor } = answered
  const claims = await prepareStepUpClaims(deps, { sessionId, method: FACTOR_METHODS[factor.factorType] })
  const session = await deps.db.transaction().execute((trx) => acceptAnswer(trx, deps, input, answered))
  return session && signSessionView(deps, session, claims)
}

/** Refuses a wrong answer, or one whose factor or challenge another request has used. */
function refuseAnswer(factorType: EnrolledType): never {
  if (factorType === 'totp') throw totpCodeWrong()
  throw factorType === 'phone' ? phoneFactorCodeWrong() : webauthnFactorWrong()
}

async function findChallengedFactor(
  { config, db, now }: Pick<VerifyFactorDeps, 'config' | 'db' | 'now'>,
  userId: string,
  { factorId, challengeId, ip }: VerifyFactorInput,
): Promise<ChallengedFactor> {
  const factor = requireEnrolled(await findFactor(db, userId, factorId))
  requireVerifyEnabled(config, factor.factorType)
  const challenge = requireChallenge(await findChallenge(db, { id: challengeId, factorId, ip }))
  const verdict = judgeChallenge(challenge, now(), config.mfa.challengeLifetimeSeconds)
  if (verdict === 'mismatch') refuseChallenge()
  if (verdict === 'expired') {
    await deleteChallenge(db, challenge.id)
    throw challengeExpired({ id: challenge.id })
  }
  return { factor, challenge }
}

/** Refuses a challenge that another address requested or another request has just used. */
function refuseChallenge(): never {
  throw challengeMismatch()
}

/** @returns `undefined` if the answer was used before */
async function acceptAnswer(
  trx: Trx,
  deps: Pick<VerifyFactorDeps, 'config' | 'logger' | 'now' | 'randomBytes' | 'jobs'>,
  { caller, userAgent, ip }: VerifyFactorInput,
  { factor, challenge, right }: AnsweredFactor,
): Promise<IssuedSession | undefined> {
  const now = deps.now()
  const { user, session } = requireFactorOwner(await lockCaller(trx, deps, caller))
  const factors = await listFactors(trx, user.id)
  const current = requireFactor(factors.find(({ id }) => id === factor.id))
  const isFirst = current.status === 'unverified'
  if (isFirst) requireAllowed(judgeActivation(factors, session.aal, deps.config.mfa))
  // Keep this order, so that a reused code leaves the challenge open for another code.
  if (!(await claimFactorAnswer(trx, { id: factor.id, now, ...right }))) return undefined
  if (!(await claimChallenge(trx, challenge.id, now))) refuseChallenge()
  const { factorType } = factor
  await deleteUnverifiedFactors(trx, { userId: user.id, factorType })
  const method = FACTOR_METHODS[factorType]
  const shown = { userId: user.id, sessionId: session.id, factorId: factor.id, method, userAgent, ip }
  // A factor protects the account from its first use, not from its enrolment. Another request may have used it since it was read
  // here.
  const firstShownAt = factor.status === 'unverified' ? now : factor.firstShownAt
  const steppedUp = await stepUpSession(trx, deps, { ...shown, credentialSince: firstShownAt ?? current.createdAt })
  // Sessions without this factor have just ended. An auth code could otherwise open another one.
  if (isFirst) await deleteFinishedFlows(trx, user.id)
  // Flows started without a factor would bypass the factor. At aal2, the user has started them.
  if (isFirst && session.aal !== 'aal2') await callEndSessionWork(trx, user.id, { scope: 'all' })
  if (isFirst) await notify(trx, deps, user, { name: 'MFA_FACTOR_ENROLLED', variables: { FactorType: factorType } })
  const traits = { factor_id: factor.id, challenge_id: challenge.id }
  await recordAudit(trx, deps, { action: 'verification_attempted', actor: user, sessionId: session.id, ip, traits })
  return steppedUp
}

/** The part of a correct answer that is stored. */
interface RightAnswer {
  /** The time step of a TOTP code. Each step is accepted once. */
  readonly step?: number
  /** The credential after this use. */
  readonly credential?: StoredCredential
}

/** Compares an answer with its challenge without using it up. @returns `undefined` if the answer is wrong */
async function compareAnswer(
  deps: Pick<VerifyFactorDeps, 'config' | 'encryptionKeys' | 'logger' | 'now' | 'serverKeys'>,
  challenged: ChallengedFactor,
  answer: FactorAnswer,
): Promise<RightAnswer | undefined> {
  if (challenged.factor.factorType === 'webauthn') return compareCredential(deps, challenged, answer)
  return answer.kind === 'code' ? compareCode(deps, challenged, answer.code) : undefined
}

function compareCode(
  deps: Pick<VerifyFactorDeps, 'now' | 'encryptionKeys' | 'serverKeys'>,
  { factor, challenge }: ChallengedFactor,
  code: string,
): RightAnswer | undefined {
  if (factor.phone !== null) {
    const answer = { challengeId: challenge.id, phone: factor.phone, code }
    return matchesFactorSms(deps, answer, challenge.codeHash) ? {} : undefined
  }
  const secret = readTotpSecret(deps, factor)
  if (secret === undefined) return undefined
  const step = findTotpStep(secret, code, deps.now())
  return step === undefined ? undefined : { step }
}

/** The first answer of a WebAuthn factor creates its credential. Later answers use this credential. */
async function compareCredential(
  deps: Pick<VerifyFactorDeps, 'config' | 'logger'>,
  { factor, challenge }: ChallengedFactor,
  answer: FactorAnswer,
): Promise<RightAnswer | undefined> {
  if (challenge.webauthn === null || !isUsable(factor)) return undefined
  const credential =
    factor.credential === null
      ? answer.kind === 'registration' && (await verifyCreation(deps, answer.response, challenge.webauthn))
      : answer.kind === 'assertion' &&
        (await verifyAssertion(deps, { response: answer.response, challenge: challenge.webauthn }, factor.credential))
  return credential ? { credential } : undefined
}
