import type { Money } from '../money/minor-units.ts'

/**
 * The behaviour of the simulator for a card. The first payment with the card chooses the scenario, and the
 * instrument stores it.
 */
export interface Scenario {
  readonly scheme: 'supported' | 'unsupported' | 'unknown'
  readonly code: 'valid' | 'invalid'
  readonly status: 'valid' | 'invalid' | 'expired' | 'disabled' | 'lost'
  /** The largest amount of one payment. `null` means no limit. */
  readonly limit: Money | null
  /** The money in the account of the card, for each payment. `null` means no limit. */
  readonly balance: Money | null
  readonly fingerprint: 'success' | 'timeout'
  readonly tdsFingerprint: 'success' | 'timeout' | 'unavailable'
  /** Whether the bank asks the customer to approve. `false` is a frictionless authentication. */
  readonly tdsChallenge: boolean
  readonly tdsStatus: 'authenticated' | 'rejected' | 'unavailable' | 'attempted'
  /** Whether the bank asks the customer out of band. The checkout then polls for the answer. */
  readonly polls: boolean
  /** The status code that refuses every payment. */
  readonly refusal: string | null
  /** The status code that refuses every payment by the merchant's server. */
  readonly laterRefusal: string | null
  /** Whether the first capture is disputed immediately. */
  readonly disputed: boolean
  /** Whether an authorization gets a fraud alert. */
  readonly fraud: boolean
  readonly delaySeconds: number
}

/** The fields of a scenario that differ from a card without problems. The database stores this form. */
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

/** Completes a scenario. Fields that a request omits get the behaviour of a card without problems. */
export function completeScenario(changes: ScenarioChanges): Scenario {
  return { ...FINE, ...changes }
}
