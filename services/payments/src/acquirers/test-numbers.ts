import type { ScenarioChanges } from '../cards/scenario.ts'

/** Status codes of refusals, by the last two digits of the card number, which are also the number of the processing error. */
const REFUSALS: Readonly<Record<string, string>> = {
  '03': 'PAYMENT_CARD_NUMBER_INVALID',
  '04': 'PAYMENT_CARD_SECURITY_CODE_INVALID',
  '06': 'PAYMENT_CARD_EXPIRED',
  '07': 'PAYMENT_INSUFFICIENT_FUNDS',
  '08': 'PAYMENT_REJECTED_BY_ISSUER',
  '09': 'PAYMENT_CARD_DISABLED',
  '10': 'PAYMENT_CARD_LOST',
  '11': 'PAYMENT_REJECTED',
  '12': 'PAYMENT_METHOD_ERROR',
  '25': 'PAYMENT_AMOUNT_LIMIT',
  '29': 'PAYMENT_CARD_SCHEME_UNSUPPORTED',
  '30': 'TDSECURE_REQUIRED',
  '31': 'TDSECURE_FAILED',
}
/** The refusals that a payment by the merchant's server can get. */
const LATER_REFUSALS: ReadonlySet<string> = new Set(['06', '07', '08', '09', '10', '11', '12', '25'])

const NUMBERS: Readonly<Record<string, ScenarioChanges>> = {
  '1000000000010000': { tdsChallenge: false },
  '1000000000020000': { disputed: true },
  '1000000000030000': { fraud: true },
  '1000000000040000': { polls: true },
  '1000000000050000': { delaySeconds: 3 },
}

/** The scenario of a test number. Any other number is accepted (reference: Test numbers). */
export function scenarioOfNumber(number: string): ScenarioChanges {
  const [, place, digits = ''] = /^10000000000(0|9)00(\d\d)$/.exec(number) ?? []
  const refusal = REFUSALS[digits]
  if (place === '0' && refusal !== undefined) return { refusal }
  if (place === '9' && refusal !== undefined && LATER_REFUSALS.has(digits)) return { laterRefusal: refusal }
  return NUMBERS[number] ?? {}
}
