import { type CardExpiry, isExpired, lastDay } from '../cards/card-expiry.ts'
import type { SchemeVerdict } from '../cards/card-number.ts'
import { hasCheckDigit } from '../cards/check-digit.ts'
import type { Scenario } from '../cards/scenario.ts'

/** A card of a payment, with what decides whether it may be used. */
export interface JudgedCard {
  /** Digits only. */
  readonly number: string
  readonly network: SchemeVerdict
  readonly expiry: CardExpiry
  readonly test: boolean
  /** How the simulator treats the network. */
  readonly scenario: Pick<Scenario, 'scheme'>
  /** The merchant's clock. */
  readonly now: Date
}

const SUPPORTED = ['visa', 'mastercard'] as const
const UNKNOWN = 'PAYMENT_CARD_SCHEME_UNKNOWN'
const UNSUPPORTED = 'PAYMENT_CARD_SCHEME_UNSUPPORTED'

/**
 * The status code that refuses a card before the acquirer is asked: for its network, check digit or expiry
 * (reference: Order of checks at the checkout). Undefined for a card that the acquirer may be asked about.
 */
export function cardProblem({ number, network, expiry, test, scenario, now }: JudgedCard): string | undefined {
  // A scenario can only make a supported network unsupported or unknown.
  const verdict = network.verdict === 'supported' ? scenario.scheme : network.verdict
  if (verdict === 'unknown') return UNKNOWN
  if (verdict === 'unsupported') return UNSUPPORTED
  if (!test && !hasCheckDigit(number)) return 'PAYMENT_CARD_NUMBER_INVALID'
  return isExpired(lastDay(expiry), now) ? 'PAYMENT_CARD_EXPIRED' : undefined
}

/** The name of a network as clients see it; null if no network has the number of the card. */
export function schemeName(network: SchemeVerdict): string | null {
  return network.verdict === 'unknown' ? null : network.scheme
}

/** Further members of a refusal, which help the customer to choose another card. */
export function refusalDetails(statusCode: string, network: SchemeVerdict): Readonly<Record<string, unknown>> {
  if (statusCode === UNKNOWN) return { supported: SUPPORTED }
  return statusCode === UNSUPPORTED ? { scheme: schemeName(network), supported: SUPPORTED } : {}
}
