import { type CardExpiry, isExpired, lastDay } from '../cards/card-expiry.ts'
import { hasCheckDigit, type SchemeVerdict } from '../cards/card-number.ts'
import type { Scenario } from '../cards/scenario.ts'

export interface JudgedCard {
  /** The card number as digits only. */
  readonly number: string
  readonly scheme: SchemeVerdict
  readonly expiry: CardExpiry
  readonly test: boolean
  /** The simulator's behaviour for the scheme. */
  readonly scenario: Pick<Scenario, 'scheme'>
  readonly now: Date
}

const SUPPORTED = ['visa', 'mastercard'] as const
const UNKNOWN = 'PAYMENT_CARD_SCHEME_UNKNOWN'
const UNSUPPORTED = 'PAYMENT_CARD_SCHEME_UNSUPPORTED'

/**
 * Returns the status code that refuses a card before the acquirer is asked. The checks are scheme, check digit and expiry
 * (reference: Order of checks at the checkout). Returns `undefined` if the acquirer may be asked.
 */
export function judgeCard({ number, scheme, expiry, test, scenario, now }: JudgedCard): string | undefined {
  // A scenario can only turn a supported scheme into an unsupported or unknown scheme.
  const verdict = scheme.verdict === 'supported' ? scenario.scheme : scheme.verdict
  if (verdict === 'unknown') return UNKNOWN
  if (verdict === 'unsupported') return UNSUPPORTED
  if (!test && !hasCheckDigit(number)) return 'PAYMENT_CARD_NUMBER_INVALID'
  return isExpired(lastDay(expiry), now) ? 'PAYMENT_CARD_EXPIRED' : undefined
}

/** Returns the name of a scheme as clients see it, or `null` if the card number belongs to no known scheme. */
export function schemeName(scheme: SchemeVerdict): string | null {
  return scheme.verdict === 'unknown' ? null : scheme.scheme
}

/** Returns additional fields of a refusal, which help the customer to choose another card. */
export function refusalDetails(statusCode: string, scheme: SchemeVerdict): Readonly<Record<string, unknown>> {
  if (statusCode === UNKNOWN) return { supported: SUPPORTED }
  return statusCode === UNSUPPORTED ? { scheme: schemeName(scheme), supported: SUPPORTED } : {}
}
