import { type ChallengeState, openChallengeState } from '../checkout/frame-state.ts'
import { sealHint } from '../checkout/hint.ts'
import { findChallenge, type OpenChallenge, updateOutcome } from '../checkout/session-repository.ts'
import type { PaymentsDeps } from '../deps.ts'

type BankDeps = Pick<PaymentsDeps, 'lanes' | 'seals'>

/** The customer's answer to the simulated bank. */
export type Decision = 'approve' | 'decline'

/** A challenge as its page shows it. After its end, the page sends `hints` to the shop. */
export interface BankChallenge {
  readonly state: ChallengeState
  readonly challenge: OpenChallenge
  /** Undefined while the customer may still answer; empty when there was no answer in time. */
  readonly hints: readonly string[] | undefined
}

/**
 * Opens the challenge of a sealed text, and stores the decision of the customer, if there is one. Only the first decision
 * counts, and only in time (reference: Simulated bank). Undefined when this service did not seal the text, or the session is
 * deleted.
 */
export async function answerBank(
  { lanes, seals }: BankDeps,
  text: string,
  decision: Decision | undefined,
): Promise<BankChallenge | undefined> {
  const state = openChallengeState(seals.frames, text)
  if (!state) return undefined
  const key = { merchantId: state.merchantId, id: state.sessionId }
  const before = await findChallenge(lanes, key)
  if (!before) return undefined
  const isAnswered = decision !== undefined && before.isOpen && before.outcome === null
  if (isAnswered) await updateOutcome(lanes, key, decision === 'approve' ? before.enrolment.status : 'rejected')
  const challenge = isAnswered ? await findChallenge(lanes, key) : before
  return challenge && { state, challenge, hints: hintsOf({ seals }, state, challenge) }
}

function hintsOf(
  { seals }: Pick<BankDeps, 'seals'>,
  { sessionId }: ChallengeState,
  { digest, outcome, isOpen }: OpenChallenge,
): readonly string[] | undefined {
  if (outcome !== null) return [sealHint(seals.hints, digest, { sessionId, step: 'tds-challenge' })]
  return isOpen ? undefined : []
}
