import type { z } from 'zod'
import {
  encryptHint,
  NOT_ENROLLED,
  nextOf,
  type Step,
  simulatedEnrolment,
  wasOffered,
} from '../checkout/authentication.ts'
import {
  type ChallengeTaskView,
  type ChallengeType,
  encryptChallengeState,
  encryptFingerprintState,
} from '../checkout/challenge.ts'
import { claimTokens, type Session } from '../checkout/checkout-repository.ts'
import {
  type CheckoutDeps,
  type EndedOrder,
  judgeCardOf,
  type OpenOrder,
  type OrderRequest,
  openCheckout,
} from '../checkout/open-checkout.ts'
import {
  insertSession,
  type SessionKey,
  updateChallenged,
  updateOutcome,
  updateTakenStep,
} from '../checkout/session-repository.ts'
import type { PaymentsConfig } from '../config.ts'
import { challengeUnavailable } from '../errors.ts'

export type ChallengeDeps = CheckoutDeps & {
  readonly config: { readonly server: Pick<PaymentsConfig['server'], 'baseUrl'> }
}

/** The challenge that a client chose from the offered ones. */
export interface TakeChallengeInput extends OrderRequest {
  readonly step: Step
  /** How the client shows the challenge. Steps without a question to the customer have only one way. */
  readonly way: Extract<ChallengeType, 'iframe' | 'redirect' | 'poll'>
  /** The origin of the page that shows the challenge. `undefined` if the browser did not send it. */
  readonly origin: string | undefined
  /** The locale of that page. `undefined` if the page did not send it. */
  readonly locale: string | undefined
}

/** The task for the client. From now on the client sends the hints with the order, as proof of the challenge. */
type ChallengeTask = z.input<typeof ChallengeTaskView>

const FINGERPRINT_TIMEOUT_MS = 10_000
const CHALLENGE_TIMEOUT_MS = 600_000
const CHALLENGE_SIZE = { width: 390, height: 400 }
const POLL_INTERVAL_MS = 2_000

/**
 * Takes the step of a payment that was offered last, or an earlier step. Several clients may send the same order at the same
 * time, and each must be able to continue (reference: Rules of challenges).
 * @throws challengeUnavailable if the step was not offered yet or the order ended without steps, and the errors of `openCheckout`
 */
export async function takeChallenge(deps: ChallengeDeps, input: TakeChallengeInput): Promise<ChallengeTask> {
  const opened = await openCheckout(deps, input)
  if (opened.verdict === 'ended') return toEndedTask(deps, opened, input.step)
  requireStep(judgeCardOf(opened) === undefined)
  const { session, done } = opened
  if (input.step === 'card-lookup' && !session) return lookUpCard(deps, opened)
  requireStep(session !== undefined && wasOffered(session, input.step))
  if (input.step !== 'tds-challenge') return startFingerprint(deps, { opened, session, input })
  requireStep(nextOf(session, done).verdict === 'step')
  return startChallenge(deps, { opened, session, input })
}

/** @throws challengeUnavailable if the step does not apply to the order, so that the client starts again */
function requireStep(applies: boolean): asserts applies {
  if (!applies) throw challengeUnavailable()
}

/** The task after another client has ended the order. With its hint, this client gets the same result. */
function toEndedTask({ ciphers }: ChallengeDeps, { bound }: EndedOrder, step: Step): ChallengeTask {
  requireStep(bound !== undefined)
  return { hints: [encryptHint(ciphers.hints, bound.digest, { sessionId: bound.sessionId, step })] }
}

async function lookUpCard(deps: ChallengeDeps, opened: OpenOrder): Promise<ChallengeTask> {
  const { payee, tokens, digest, scenario } = opened
  await claimTokens(deps.pools, payee.id, tokens)
  const enrolment = payee.test ? simulatedEnrolment(scenario) : NOT_ENROLLED
  const sessionId = await insertSession(deps.pools, { merchantId: payee.id, digest, enrolment })
  return { hints: [encryptHint(deps.ciphers.hints, digest, { sessionId, step: 'card-lookup' })] }
}

interface Taken {
  readonly opened: OpenOrder
  readonly session: Session
  readonly input: TakeChallengeInput
}

async function startFingerprint(deps: ChallengeDeps, { opened, session, input }: Taken): Promise<ChallengeTask> {
  const { config, ciphers, pools } = deps
  const { step, origin = '*' } = input
  await updateTakenStep(pools, { merchantId: opened.payee.id, id: session.id }, step)
  const proof = encryptHint(ciphers.hints, opened.digest, { sessionId: session.id, step })
  const hint = session.enrolment.silent.includes(step) ? null : proof
  return {
    ...frameTask(`${config.server.baseUrl}/acs/fingerprint`, encryptFingerprintState(ciphers.frames, { hint, origin })),
    timeout: FINGERPRINT_TIMEOUT_MS,
  }
}

async function startChallenge(deps: ChallengeDeps, { opened, session, input }: Taken): Promise<ChallengeTask> {
  const { order, payee, money, tokens, digest } = opened
  const { way, origin = null, locale = null } = input
  const returnUrl = order.returnUrl ?? null
  requireStep(way !== 'redirect' || returnUrl !== null)
  const key = { merchantId: payee.id, id: session.id }
  const waits = await updateChallenged(deps.pools, { ...key, origin, returnUrl })
  const hint = encryptHint(deps.ciphers.hints, digest, { sessionId: session.id, step: 'tds-challenge' })
  if (way === 'poll') return pollTask(deps, { key, session, waits, hint })
  const last4 = tokens.number.value.slice(-4)
  const shown = { merchantId: payee.id, sessionId: session.id, money, last4, locale, returns: way === 'redirect' }
  const state = encryptChallengeState(deps.ciphers.frames, shown)
  const page = `${deps.config.server.baseUrl}/acs/challenge`
  // Give the client the hint already now, because it proves nothing until the bank has decided.
  if (way === 'redirect') return { url: `${page}?state=${encodeURIComponent(state)}`, hints: [hint] }
  return { ...frameTask(page, state), ...CHALLENGE_SIZE, timeout: CHALLENGE_TIMEOUT_MS }
}

/** Returns the task of out-of-band authentication. The simulated banking app confirms the payment after two seconds. */
async function pollTask(
  { pools, now }: ChallengeDeps,
  {
    key,
    session,
    waits,
    hint,
  }: {
    readonly key: SessionKey
    readonly session: Session
    /** Whether the authentication started less than two seconds ago. */
    readonly waits: boolean
    readonly hint: string
  },
): Promise<ChallengeTask> {
  const { polls, status } = session.enrolment
  const isAnswered = session.outcome !== null || (polls && !waits)
  if (isAnswered && session.outcome === null) await updateOutcome(pools, key, status)
  const notBefore = new Date(now().getTime() + POLL_INTERVAL_MS).toISOString()
  return { notBefore, interval: POLL_INTERVAL_MS, hints: isAnswered ? [hint] : [] }
}

function frameTask(page: string, state: string): ChallengeTask {
  return { action: page, url: page, method: 'POST', fields: { state }, hints: [] }
}
