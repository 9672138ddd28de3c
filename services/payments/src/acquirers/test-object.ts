import { z } from 'zod'
import type { ScenarioChanges } from '../cards/scenario.ts'
import { FIELD_TEXTS } from '../field-errors.ts'
import { currencyExponent } from '../money/currencies.ts'
import { decimalMoneyShape, toMinorUnits } from '../money/decimal-money.ts'
import { scenarioOfNumber } from './test-numbers.ts'

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
 * The scenario of a card's first payment. A `test` object with any field has precedence over the scenario of the number
 * (reference: Test object).
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
