import { z } from 'zod'
import type { ScenarioChanges } from '../cards/scenario.ts'
import { FIELD_TEXTS } from '../field-errors.ts'
import { currencyExponent } from '../money/currencies.ts'
import { decimalMoneyShape, toMinorUnits } from '../money/minor-units.ts'

const Bound = z.union([
  z.literal('infinite'),
  z.strictObject({ ...decimalMoneyShape, value: z.int().min(0) }).transform((money, context) => {
    const exponent = currencyExponent(money.currency)
    if (exponent !== undefined) return { currency: money.currency, amount: Number(toMinorUnits(money, exponent)) }
    context.addIssue({ code: 'custom', message: FIELD_TEXTS.notListed, path: ['currency'] })
    return z.NEVER
  }),
])

/** The behaviour of the simulator. The first value of each field is the default (reference: Test object). */
export const TestObject = z.strictObject({
  card: z
    .strictObject({
      scheme: z.enum(['supported', 'unsupported', 'unknown']).optional(),
      code: z.enum(['valid', 'invalid']).optional(),
      status: z.enum(['valid', 'invalid', 'expired', 'disabled', 'lost']).optional(),
      limit: Bound.optional(),
      balance: Bound.optional(),
    })
    .optional(),
  fingerprint: z.enum(['success', 'timeout']).optional(),
  tds: z
    .strictObject({
      fingerprint: z.enum(['success', 'timeout', 'unavailable']).optional(),
      challenge: z.boolean().optional(),
      status: z.enum(['authenticated', 'rejected', 'unavailable', 'attempted']).optional(),
    })
    .optional(),
})

/**
 * Returns the scenario of a card's first payment. If the `test` object has any field, it takes precedence over the scenario of
 * the card number (reference: Test object).
 */
export function scenarioOfPayment(
  number: string,
  { card, fingerprint, tds }: z.output<typeof TestObject>,
): ScenarioChanges {
  const changes = withoutAbsent({
    scheme: card?.scheme,
    code: card?.code,
    status: card?.status,
    limit: boundOrNull(card?.limit),
    balance: boundOrNull(card?.balance),
    fingerprint,
    tdsFingerprint: tds?.fingerprint,
    tdsChallenge: tds?.challenge,
    tdsStatus: tds?.status,
  })
  return Object.keys(changes).length > 0 ? changes : scenarioOfNumber(number)
}

function boundOrNull<Value>(bound: Value | 'infinite' | undefined): Value | null | undefined {
  return bound === 'infinite' ? null : bound
}

type Present<Fields> = { [Key in keyof Fields]?: Fields[Key] & (NonNullable<unknown> | null) }

function withoutAbsent<Fields extends object>(fields: Fields): Present<Fields> {
  const present: Present<Fields> = {}
  for (const key in fields) {
    const value = fields[key]
    if (value !== undefined) present[key] = value
  }
  return present
}

/** Status codes of refusals by the card number's last two digits, which are also the processing error's number. */
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

/** Returns the scenario of a test number. All other numbers are accepted (reference: Test numbers). */
export function scenarioOfNumber(number: string): ScenarioChanges {
  const [, place, digits = ''] = /^10000000000(0|9)00(\d\d)$/.exec(number) ?? []
  const refusal = REFUSALS[digits]
  if (place === '0' && refusal !== undefined) return { refusal }
  if (place === '9' && refusal !== undefined && LATER_REFUSALS.has(digits)) return { laterRefusal: refusal }
  return NUMBERS[number] ?? {}
}
