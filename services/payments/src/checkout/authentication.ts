import { z } from 'zod'
import type { Scenario } from '../cards/scenario.ts'
import type { TextCipher } from '../vault/encryption.ts'

export interface Authentication {
  readonly enrolment: Enrolment
  /** The last step that was offered. */
  readonly step: Step
  /** Whether the client has the task of the last offered step. */
  readonly isTaken: boolean
  /** The answer of the bank to a challenge. `null` until the bank has answered. */
  readonly outcome: TdsStatus | null
  /** Whether the customer was asked and did not answer in time. */
  readonly isTimedOut: boolean
}

/** The step that an order takes next, or the final status of its authentication. */
export type NextStep =
  | { readonly verdict: 'step'; readonly step: Step }
  | { readonly verdict: 'final'; readonly status: TdsStatus }

/**
 * The next step, or the final status (reference: Rules of challenges). A payment begins with the card lookup. A fingerprint is
 * offered until the client has its task, so that a repeated request gets the same answer. Then it is skipped, even without its
 * hint. A challenge is offered until the bank has answered and the client has the hint, or the time is over.
 */
export function nextOf(authentication: Authentication | undefined, done: ReadonlySet<Step>): NextStep {
  if (!authentication) return { verdict: 'step', step: 'card-lookup' }
  const { enrolment, step, outcome, isTimedOut } = authentication
  switch (sessionState(authentication)) {
    case 'looked_up':
    case 'given_out': {
      const next = enrolment.steps[enrolment.steps.indexOf(step) + 1]
      return next === undefined ? { verdict: 'final', status: enrolment.status } : { verdict: 'step', step: next }
    }
    case 'fingerprint':
      return { verdict: 'step', step }
    case 'challenge':
      return isTimedOut ? { verdict: 'final', status: 'rejected' } : { verdict: 'step', step: 'tds-challenge' }
    case 'answered':
      if (outcome !== null && done.has('tds-challenge')) return { verdict: 'final', status: outcome }
      return isTimedOut ? { verdict: 'final', status: 'rejected' } : { verdict: 'step', step: 'tds-challenge' }
  }
}

/** The states of a session until it is paid (README: the diagram, and the effect of each event). */
type SessionState = 'looked_up' | 'fingerprint' | 'given_out' | 'challenge' | 'answered'

/** Returns the state that the columns of a session represent. */
function sessionState({ step, isTaken, outcome }: Authentication): SessionState {
  switch (step) {
    case 'card-lookup':
      return 'looked_up'
    case 'device-fingerprint':
    case 'tds-fingerprint':
      return isTaken ? 'given_out' : 'fingerprint'
    case 'tds-challenge':
      return outcome === null ? 'challenge' : 'answered'
  }
}

/** Whether a step is the last offered step or an earlier step. The client may get the task of such a step, even more than once */
export function wasOffered({ enrolment: { steps }, step: offered }: Authentication, step: Step): boolean {
  return steps.includes(step) && steps.indexOf(step) <= steps.indexOf(offered)
}

/** The 3-D Secure mark of the transaction, or the status code of the refusal. */
export type TdsVerdict =
  | { readonly verdict: 'accepted'; readonly tds: 'full' | 'attempt' | null }
  | { readonly verdict: 'refused'; readonly statusCode: 'TDSECURE_REQUIRED' | 'TDSECURE_FAILED' }

/** Accepts or refuses an authentication, depending on the merchant's mode (reference: 3-D Secure). */
export function tdsVerdict(status: TdsStatus, mode: 'attempt' | 'full'): TdsVerdict {
  if (status === 'rejected') return { verdict: 'refused', statusCode: 'TDSECURE_FAILED' }
  if (status === 'authenticated') return { verdict: 'accepted', tds: 'full' }
  if (mode === 'full') return { verdict: 'refused', statusCode: 'TDSECURE_REQUIRED' }
  return { verdict: 'accepted', tds: status === 'attempted' ? 'attempt' : null }
}

/** The steps of a payment, in order (reference: Challenges). */
export const STEPS = ['card-lookup', 'device-fingerprint', 'tds-fingerprint', 'tds-challenge'] as const
export type Step = (typeof STEPS)[number]

/** The outcome of the authentication of the customer by their bank. */
export type TdsStatus = Scenario['tdsStatus']

/** The 3-D Secure enrolment of a card, as the lookup finds it. */
export interface Enrolment {
  /** The steps that are offered after the lookup. */
  readonly steps: readonly Step[]
  /** The steps whose frame never sends an answer. */
  readonly silent: readonly Step[]
  /** Whether to ask the customer out of band. */
  readonly polls: boolean
  /** The bank's answer. Without a challenge it applies immediately, otherwise when the customer approves. */
  readonly status: TdsStatus
}

/** The enrolment of live cards. No customer can be authenticated, because no directory of live cards is connected. */
export const NOT_ENROLLED: Enrolment = { steps: [], silent: [], polls: false, status: 'unavailable' }

/** Returns the 3-D Secure enrolment of a card of the simulator (reference: Test object). */
export function simulatedEnrolment(scenario: Scenario): Enrolment {
  const { fingerprint, tdsFingerprint, tdsChallenge, tdsStatus: status, polls } = scenario
  return {
    steps: [
      'device-fingerprint',
      ...(tdsFingerprint === 'unavailable' ? [] : (['tds-fingerprint'] as const)),
      ...(tdsChallenge ? (['tds-challenge'] as const) : []),
    ],
    silent: [
      ...(fingerprint === 'timeout' ? (['device-fingerprint'] as const) : []),
      ...(tdsFingerprint === 'timeout' ? (['tds-fingerprint'] as const) : []),
    ],
    polls,
    status,
  }
}

/** The proof that a client has completed a step of a payment. */
interface Hint {
  readonly sessionId: string
  readonly step: Step
}

const Content = z.object({ sessionId: z.string(), step: z.enum(STEPS) })

/** Encrypts a hint as text for the client. It can be decrypted only for the same order. */
export function encryptHint(hints: TextCipher, digest: Buffer, { sessionId, step }: Hint): string {
  return hints.encrypt({ sessionId, step }, placeOf(digest))
}

/** The session that an order continues, and the steps that the client has completed in it. */
interface Progress {
  readonly sessionId: string
  readonly done: ReadonlySet<Step>
}

/**
 * Reads the hints of an order. The last card lookup identifies the session. Hints of other sessions or orders and other texts are
 * ignored. Returns `undefined` if no hint of a card lookup exists.
 * @param digest the `orderDigest` of the order, to which the hints are bound
 */
export function readHints(hints: TextCipher, digest: Buffer, texts: readonly string[]): Progress | undefined {
  const read = texts.flatMap((text) => Content.safeParse(hints.decrypt(text, placeOf(digest))).data ?? [])
  const sessionId = read.findLast(({ step }) => step === 'card-lookup')?.sessionId
  if (sessionId === undefined) return undefined
  const own = read.filter((hint) => hint.sessionId === sessionId)
  return { sessionId, done: new Set(own.map(({ step }) => step)) }
}

function placeOf(digest: Buffer): string {
  return `hint/${digest.toString('base64')}`
}
