import type { Scenario } from '../acquirers/scenario.ts'
import { type CardExpiry, isExpired, lastDay } from '../cards/card-expiry.ts'
import { type SchemeVerdict, schemeOf } from '../cards/card-number.ts'
import { hasCheckDigit } from '../cards/check-digit.ts'

/** A card that may be asked about, or the status code that refuses it. `scheme` is null when the network is unknown. */
export interface CardJudgement {
  readonly scheme: string | null
  readonly refusal: { readonly statusCode: string; readonly details: Readonly<Record<string, unknown>> } | undefined
}

export interface JudgedCard {
  /** Digits alone. */
  readonly number: string
  readonly expiry: CardExpiry
  readonly test: boolean
  /** What the simulator is to make of its network. */
  readonly scenario: Pick<Scenario, 'scheme'>
  /** The merchant's clock. */
  readonly now: Date
}

const SUPPORTED = ['visa', 'mastercard'] as const

/** Judges what can be told of a card without asking anyone: its network, its check digit, its month. @see contract 15.2, 16.2 */
export function judgeCard({ number, expiry, test, scenario, now }: JudgedCard): CardJudgement {
  const network = schemeOf(number, { test })
  const scheme = network.verdict === 'unknown' ? null : network.scheme
  const refuse = (statusCode: string, details = {}) => ({ scheme, refusal: { statusCode, details } })
  const verdict = verdictOf(network, scenario)
  if (verdict === 'unknown') return refuse('PAYMENT_CARD_SCHEME_UNKNOWN', { supported: SUPPORTED })
  if (verdict === 'unsupported') return refuse('PAYMENT_CARD_SCHEME_UNSUPPORTED', { scheme, supported: SUPPORTED })
  if (!test && !hasCheckDigit(number)) return refuse('PAYMENT_CARD_NUMBER_INVALID')
  return isExpired(lastDay(expiry), now) ? refuse('PAYMENT_CARD_EXPIRED') : { scheme, refusal: undefined }
}

/** A scenario can make a network worse, never better. */
function verdictOf({ verdict }: SchemeVerdict, { scheme }: Pick<Scenario, 'scheme'>): SchemeVerdict['verdict'] {
  return verdict === 'supported' ? scheme : verdict
}
