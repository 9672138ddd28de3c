import type { Enrolment, Step, TdsStatus } from './enrolment.ts'

/** The progress of the authentication of a payment. */
export interface Authentication {
  readonly enrolment: Enrolment
  /** The last step that was offered. */
  readonly state: Step
  /** Whether the client has the task of that step. */
  readonly isTaken: boolean
  /** What the bank answered to a challenge; null until then. */
  readonly outcome: TdsStatus | null
  /** Whether the customer was asked and has not answered in time. */
  readonly isTimedOut: boolean
}

/**
 * The next step, or the final status. An order without a session begins with the lookup. A fingerprint is offered until the
 * client has its task, so that a repeated request gets the same answer; after that it is skipped, with or without its hint. A
 * challenge is offered until the bank has answered and the client has the hint, or until the time is over (reference: Rules of
 * challenges).
 */
export function nextOf(
  authentication: Authentication | undefined,
  done: ReadonlySet<Step>,
): { readonly step: Step } | { readonly status: TdsStatus } {
  if (!authentication) return { step: 'card-lookup' }
  const { enrolment, state, isTaken, outcome, isTimedOut } = authentication
  if (state === 'tds-challenge') {
    if (outcome !== null && done.has('tds-challenge')) return { status: outcome }
    return isTimedOut ? { status: 'rejected' } : { step: 'tds-challenge' }
  }
  if (state !== 'card-lookup' && !isTaken) return { step: state }
  const next = enrolment.steps[enrolment.steps.indexOf(state) + 1]
  return next === undefined ? { status: enrolment.status } : { step: next }
}

/** Whether a step is the last that was offered, or an earlier one. Its task may be taken, also again. */
export function wasOffered({ enrolment: { steps }, state }: Authentication, step: Step): boolean {
  return steps.includes(step) && steps.indexOf(step) <= steps.indexOf(state)
}

/** The mark of the transaction, or why the payment is refused. */
export type TdsVerdict =
  | { readonly tds: 'full' | 'attempt' | null }
  | { readonly refusal: 'TDSECURE_REQUIRED' | 'TDSECURE_FAILED' }

/** Judges an authentication by the mode of the merchant (reference: 3-D Secure). */
export function tdsVerdict(status: TdsStatus, mode: 'attempt' | 'full'): TdsVerdict {
  if (status === 'rejected') return { refusal: 'TDSECURE_FAILED' }
  if (status === 'authenticated') return { tds: 'full' }
  if (mode === 'full') return { refusal: 'TDSECURE_REQUIRED' }
  return { tds: status === 'attempted' ? 'attempt' : null }
}
