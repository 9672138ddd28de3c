import type { Money } from '../money/minor-units.ts'

/**
 * The behaviour of the simulator for a card. The first payment with the card chooses the scenario, and the
 * instrument stores it.
 */
export interface Scenario {
  readonly scheme: 'supported' | 'unsupported' | 'unknown'
  readonly code: 'valid' | 'invalid'
  readonly status: 'valid' | 'invalid' | 'expired' | 'disabled' | 'lost'
  /** The largest amount of one payment; null: no limit. */
  readonly limit: Money | null
  /** The money on the account of the card, for each payment; null: no limit. */
  readonly balance: Money | null
  readonly fingerprint: 'success' | 'timeout'
  readonly tdsFingerprint: 'success' | 'timeout' | 'unavailable'
  /** Whether the customer is asked to approve; false is a frictionless authentication. */
  readonly tdsChallenge: boolean
  readonly tdsStatus: 'authenticated' | 'rejected' | 'unavailable' | 'attempted'
  /** Whether the customer is asked out of band, for which the checkout polls. */
  readonly polls: boolean
  /** The status code that refuses every payment. */
  readonly refusal: string | null
  /** The status code that refuses every payment by the merchant's server. */
  readonly laterRefusal: string | null
  /** Whether the first capture is disputed at once. */
  readonly disputed: boolean
  /** Whether an authorization gets a fraud alert. */
  readonly fraud: boolean
  readonly delaySeconds: number
}

/** The fields of a scenario that differ from a card without problems. Stored in this form. */
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

/** A scenario with the behaviour of a good card for everything that a request leaves out. */
export function completeScenario(changes: ScenarioChanges): Scenario {
  return { ...FINE, ...changes }
}
