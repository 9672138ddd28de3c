import type { Scenario } from '../cards/scenario.ts'

/** The steps of a payment, in order (reference: Challenges). */
export const STEPS = ['card-lookup', 'device-fingerprint', 'tds-fingerprint', 'tds-challenge'] as const
/** A step of a payment, before the acquirer is asked. */
export type Step = (typeof STEPS)[number]

/** The outcome of the authentication of the customer by their bank. */
export type TdsStatus = Scenario['tdsStatus']

/** The 3-D Secure enrolment of a card, as the lookup finds it. */
export interface Enrolment {
  /** The steps that are offered after the lookup. */
  readonly steps: readonly Step[]
  /** The steps whose frame never answers. */
  readonly silent: readonly Step[]
  /** Whether to ask the customer out of band. */
  readonly polls: boolean
  /** The bank's answer: at once without a challenge, otherwise when the customer approves. */
  readonly status: TdsStatus
}

/** There is no directory of live cards, so no customer can be authenticated. */
export const NOT_ENROLLED: Enrolment = { steps: [], silent: [], polls: false, status: 'unavailable' }

/** The enrolment of a card of the simulator (reference: Test object). */
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
