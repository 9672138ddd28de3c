import { type CardExpiry, isExpired, lastDay } from '../cards/card-expiry.ts'
import { hasCheckDigit, type SchemeVerdict } from '../cards/card-number.ts'
import type { Scenario } from '../cards/scenario.ts'

export interface JudgedCard {
  /** Digits only. */
  readonly number: string
  readonly scheme: SchemeVerdict
  readonly expiry: CardExpiry
  readonly test: boolean
  /** The behaviour of the simulator for the scheme. */
  readonly scenario: Pick<Scenario, 'scheme'>
  /** The merchant's clock. */
  readonly now: Date
}

const SUPPORTED = ['visa', 'mastercard'] as const
const UNKNOWN = 'PAYMENT_CARD_SCHEME_UNKNOWN'
const UNSUPPORTED = 'PAYMENT_CARD_SCHEME_UNSUPPORTED'

/**
 * The status code that refuses a card before the acquirer is asked: for its scheme, check digit or expiry
 * (reference: Order of checks at the checkout). Undefined for a card that the acquirer may be asked about.
 */
export function judgeCard({ number, scheme, expiry, test, scenario, now }: JudgedCard): string | undefined {
  // A scenario can only make a supported scheme unsupported or unknown.
  const verdict = scheme.verdict === 'supported' ? scenario.scheme : scheme.verdict
  if (verdict === 'unknown') return UNKNOWN
  if (verdict === 'unsupported') return UNSUPPORTED
  if (!test && !hasCheckDigit(number)) return 'PAYMENT_CARD_NUMBER_INVALID'
  return isExpired(lastDay(expiry), now) ? 'PAYMENT_CARD_EXPIRED' : undefined
}

/** The name of a scheme as clients see it; null if no scheme has the number of the card. */
export function schemeName(scheme: SchemeVerdict): string | null {
  return scheme.verdict === 'unknown' ? null : scheme.scheme
}

/** Further fields of a refusal, which help the customer to choose another card. */
export function refusalDetails(statusCode: string, scheme: SchemeVerdict): Readonly<Record<string, unknown>> {
  if (statusCode === UNKNOWN) return { supported: SUPPORTED }
  return statusCode === UNSUPPORTED ? { scheme: schemeName(scheme), supported: SUPPORTED } : {}
}
