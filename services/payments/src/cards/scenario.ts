import type { Money } from '../money/minor-units.ts'

/** How the simulator treats a card. It is chosen with the card's first payment and kept with the instrument. */
export interface Scenario {
  readonly scheme: 'supported' | 'unsupported' | 'unknown'
  readonly code: 'valid' | 'invalid'
  readonly status: 'valid' | 'invalid' | 'expired' | 'disabled' | 'lost'
  /** The most that one payment may take; null: no bound. */
  readonly limit: Money | null
  /** What is behind the card for each payment; null: no bound. */
  readonly balance: Money | null
  readonly fingerprint: 'success' | 'timeout'
  readonly tdsFingerprint: 'success' | 'timeout' | 'unavailable'
  /** Whether the cardholder is asked to approve; false is a frictionless authentication. */
  readonly tdsChallenge: boolean
  readonly tdsStatus: 'authenticated' | 'rejected' | 'unavailable' | 'attempted'
  /** Whether the cardholder is asked out of band, which the checkout polls for. */
  readonly polls: boolean
  /** Status code with which every payment is refused. */
  readonly refusal: string | null
  /** Status code with which every payment made by the merchant's server is refused. */
  readonly laterRefusal: string | null
  /** Whether the first capture is disputed at once. */
  readonly disputed: boolean
  /** Whether an authorization is reported as fraud. */
  readonly fraud: boolean
  /** How long an answer takes. */
  readonly delaySeconds: number
}

/** What of a scenario differs from a card with which all is fine: the form in which it is kept. */
export type ScenarioChanges = Partial<Scenario>

const FINE: Scenario = {
  scheme: 'supported',
  code: 'valid',
  status: 'valid',
  limit: null,
  balance: null,
  fingerprint: 'success',
  tdsFingerprint: 'success',
  tdsChallenge: true,
  tdsStatus: 'authenticated',
  polls: false,
  refusal: null,
  laterRefusal: null,
  disputed: false,
  fraud: false,
  delaySeconds: 0,
}

/** The whole scenario of a card. */
export function completeScenario(changes: ScenarioChanges): Scenario {
  return { ...FINE, ...changes }
}
