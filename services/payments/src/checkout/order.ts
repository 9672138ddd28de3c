import { fingerprintOf } from '../access/fingerprint.ts'
import { hasCardNumber } from '../cards/clear-number.ts'
import { cardDataInsecure, type OrderProblem, orderInvalid, orderKeyUsed } from '../errors.ts'
import { FIELD_TEXTS } from '../field-errors.ts'
import { currencyExponent, isChargeable } from '../money/currencies.ts'
import { toAsciiText } from '../money/latin-text.ts'
import { AMOUNT_MAX, type DecimalMoney, type Money, toMinorUnits } from '../money/minor-units.ts'
import type { Order } from './payment-body.ts'

const DESCRIPTOR_LENGTH_MAX = 22
const DESCRIPTOR_LENGTH_MIN = 2

type Amount = DecimalMoney & { readonly currency: string }

/**
 * Returns the first problem with the amounts of an order (reference: Amounts of orders) or with its plan (reference: Plans).
 * @param now the time after which the entries of a plan must begin
 * @returns the dotted path of the field and a text of `FIELD_TEXTS`, or `undefined` if there is no problem
 */
export function orderProblem({ amount, text = '', plan = [], unplanned }: Order, now: Date): OrderProblem | undefined {
  if (!amount && plan.length === 0 && !unplanned) return { field: 'amount', message: FIELD_TEXTS.missingWithoutPlan }
  // The schema checked the original text. After conversion to ASCII and truncation, the text may be a card number.
  if (hasCardNumber(toDescriptor(text) ?? '')) return { field: 'text', message: FIELD_TEXTS.cardNumber }
  const ofAmount = amount && amountProblem('amount', amount)
  if (ofAmount !== undefined) return ofAmount
  for (const [i, entry] of plan.entries()) {
    const ofEntry = amountProblem(`plan.${i}.amount`, entry.amount)
    if (ofEntry !== undefined) return ofEntry
  }
  return planProblem(plan, now)
}

export function refuseOrder(problems: readonly OrderProblem[], cause?: unknown): never {
  throw orderInvalid({ problems }, { cause })
}

export function refuseUsedKey(): never {
  throw orderKeyUsed()
}

export function refuseInsecureCard(): never {
  throw cardDataInsecure()
}

function amountProblem(field: string, amount: Amount): OrderProblem | undefined {
  if (!isChargeable(amount.currency)) return { field: `${field}.currency`, message: FIELD_TEXTS.notChargeable }
  if (minorUnits(amount) <= AMOUNT_MAX) return undefined
  return { field: `${field}.value`, message: FIELD_TEXTS.tooManyMinorUnits({ max: AMOUNT_MAX }) }
}

/** Checks that the dates of the entries increase. Only the last entry may repeat without an end. */
function planProblem(plan: NonNullable<Order['plan']>, now: Date): OrderProblem | undefined {
  let latest = Number.NEGATIVE_INFINITY
  for (const [i, { scheduled, repeat }] of plan.entries()) {
    const field = scheduled === undefined ? `plan.${i}.repeat.first` : `plan.${i}.scheduled`
    if (scheduled !== undefined && Date.parse(scheduled) <= now.getTime())
      return { field, message: FIELD_TEXTS.notInFuture }
    const begins = Date.parse(scheduled ?? repeat?.first ?? '')
    if (begins <= latest) return { field, message: FIELD_TEXTS.notLater }
    latest = Number.isNaN(begins) ? latest : begins
    const isLast = i === plan.length - 1
    if (repeat && repeat.count === undefined && !isLast)
      return { field: `plan.${i}.repeat.count`, message: FIELD_TEXTS.missingBeforeEntry }
  }
  return undefined
}

/** Returns the amount to authorize, in minor units. If the order only verifies a card, returns 0 in the merchant's currency. */
export function moneyOf({ amount }: Pick<Order, 'amount'>, ownCurrency: string): Money {
  return amount
    ? { currency: amount.currency, amount: Number(minorUnits(amount)) }
    : { currency: ownCurrency, amount: 0 }
}

function minorUnits(amount: Amount): bigint {
  return toMinorUnits(amount, currencyExponent(amount.currency) ?? 0)
}

/**
 * Returns a digest of the customer's consent, in 32 bytes. Hints are bound to the digest, so the hints of one order cannot be
 * used for another order (reference: Paying once). The token represents the card. The digest includes the redirect of a payment
 * link, so that the shop of one link cannot see a payment under another link.
 */
export function orderDigest(order: Order, numberJti: string): Buffer {
  const { integration, amount, card, plan, unplanned, redirect } = order
  const key = integration.key.toLowerCase()
  return fingerprintOf({ key, amount, numberJti, expiry: card.expiry, plan, unplanned, redirect })
}

/**
 * Returns the text for the customer's bank statement: printable ASCII, at most 22 characters, transliterated like the names in
 * bank files. Returns `undefined` if no letter or digit is left, or fewer than 2 characters other than blanks.
 */
export function toDescriptor(text: string): string | undefined {
  const descriptor = toAsciiText(text, DESCRIPTOR_LENGTH_MAX)
  return descriptor.replaceAll(' ', '').length < DESCRIPTOR_LENGTH_MIN ? undefined : descriptor
}
