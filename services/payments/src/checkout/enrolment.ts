import type { Scenario } from '../cards/scenario.ts'

/** The steps of a payment, in their order (reference: Challenges). */
export const STEPS = ['card-lookup', 'device-fingerprint', 'tds-fingerprint', 'tds-challenge'] as const
export type Step = (typeof STEPS)[number]

/** What the bank of a cardholder says of who pays. */
export type TdsStatus = Scenario['tdsStatus']

/** What of 3-D Secure a card is enrolled in, found by its lookup. */
export interface Enrolment {
  /** The steps that are offered after the lookup. */
  readonly steps: readonly Step[]
  /** Those of them whose frame never answers. */
  readonly silent: readonly Step[]
  /** Whether the cardholder is best asked out of band. */
  readonly polls: boolean
  /** What the bank says: at once where there is no challenge, else when the cardholder approves. */
  readonly status: TdsStatus
}

/** Live cards are known to no directory: nobody can be authenticated. */
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
