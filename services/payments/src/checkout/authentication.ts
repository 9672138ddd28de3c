import type { Enrolment, Step, TdsStatus } from './enrolment.ts'

/** How far the authentication of a payment has come. */
export interface Authentication {
  readonly enrolment: Enrolment
  /** The last step that was offered. */
  readonly state: Step
  /** Whether the task of that step was given out. */
  readonly isTaken: boolean
  /** What the bank said to a challenge; null until it is decided. */
  readonly outcome: TdsStatus | null
  /** Whether the cardholder was asked and has not answered in time. */
  readonly isTimedOut: boolean
}

/**
 * What comes next: a step, or what the bank says in the end. An order without a session begins with the lookup. A fingerprint
 * is offered until its task was given out, so that a request that is sent again gets the same answer; then it is passed over,
 * with its hint or without. A challenge is offered until it is decided and the client has its hint, or until it is too late
 * (reference: Rules of challenges).
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

/** Whether a step was offered after the lookup, the last one or one before it: its task may be asked for, also again. */
export function wasOffered({ enrolment: { steps }, state }: Authentication, step: Step): boolean {
  return steps.includes(step) && steps.indexOf(step) <= steps.indexOf(state)
}

/** What an authentication means for the payment: how the transaction is marked, or why it is refused. */
export type TdsVerdict =
  | { readonly tds: 'full' | 'attempt' | null }
  | { readonly refusal: 'TDSECURE_REQUIRED' | 'TDSECURE_FAILED' }

/** Judges an authentication by what the merchant demands (reference: 3-D Secure). */
export function tdsVerdict(status: TdsStatus, mode: 'attempt' | 'full'): TdsVerdict {
  if (status === 'rejected') return { refusal: 'TDSECURE_FAILED' }
  if (status === 'authenticated') return { tds: 'full' }
  if (mode === 'full') return { refusal: 'TDSECURE_REQUIRED' }
  return { tds: status === 'attempted' ? 'attempt' : null }
}
