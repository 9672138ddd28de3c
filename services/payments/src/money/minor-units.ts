import { z } from 'zod'
import { CHARGEABLE, currencyExponent, isCurrency, listCurrencies } from './currencies.ts'

export interface Money {
  readonly currency: string
  readonly amount: number
}

/** The largest amount of a payment in minor units. It has twelve digits, as in the messages of card schemes. */
export const AMOUNT_MAX = 999_999_999_999n

/** Formats like `EUR 3.00`, with exactly the decimals of the currency and no grouping (reference: Field errors). */
export function formatMoney(currency: string, amount: bigint): string {
  return `${currency} ${formatAmount(currency, amount)}`
}

/** Formats an amount like `-3.00`: major units, with exactly the decimals of the currency and no grouping. */
export function formatAmount(currency: string, amount: bigint): string {
  if (amount < 0n) return `-${formatAmount(currency, -amount)}`
  const exponent = currencyExponent(currency) ?? 0
  const digits = amount.toString().padStart(exponent + 1, '0')
  const whole = digits.slice(0, digits.length - exponent)
  return exponent === 0 ? whole : `${whole}.${digits.slice(-exponent)}`
}

/** Reads `EUR:25`: a listed currency and up to twelve digits of minor units. `undefined` for any other text. */
export function readMoney(text: string): Money | undefined {
  const [, currency, amount] = /^([A-Z]{3}):(\d{1,12})$/.exec(text) ?? []
  return currency !== undefined && isCurrency(currency) ? { currency, amount: Number(amount) } : undefined
}

/** An amount in minor units that a text may mean, and the codes of the currencies for which it has this meaning. */
export interface MeantAmount {
  readonly amount: bigint
  readonly currencies: readonly string[]
}

/** For example, `1250`. */
const MINOR_UNITS = /^\d{1,15}$/
/** For example, `12.50` or `12,5`. */
const PLAIN = /^(\d{1,12})(?:[.,](\d{1,3}))?$/
/** For example, `1,234` or `1,234.50`, as web pages show amounts. */
const GROUPED = /^(\d{1,3}(?:,\d{3}){1,3})(?:\.(\d{1,3}))?$/

/**
 * Reads a text as an amount in every possible currency (console reference: Search by amount). A text of only digits means minor
 * units of any currency. Other texts mean major units: `12.50` is 1250 in a currency with two decimals, and 12500 in one with
 * three. A code, as in `HUF 1000`, selects one currency.
 * @returns each amount in minor units, with its currencies; empty if the text is not an amount
 */
export function readMeantAmounts(text: string): readonly MeantAmount[] {
  if (MINOR_UNITS.test(text)) return [{ amount: BigInt(text), currencies: listCurrencies().map(({ code }) => code) }]
  const [, code, number = ''] = /^(?:([a-z]{3})\s+)?([\d.,]+)$/i.exec(text) ?? []
  if (code === undefined && !/[.,]/.test(number)) return []
  const possible = listCurrencies().filter((currency) => code === undefined || currency.code === code.toUpperCase())
  const byExponent = [...Map.groupBy(possible, ({ exponent }) => exponent)]
  return [PLAIN, GROUPED].flatMap((form) => {
    const [, whole, fraction = ''] = form.exec(number) ?? []
    if (whole === undefined) return []
    return byExponent.flatMap(([exponent, currencies]) => {
      if (fraction.length > exponent) return []
      const amount = BigInt(whole.replaceAll(',', '') + fraction.padEnd(exponent, '0'))
      return [{ amount, currencies: currencies.map((currency) => currency.code) }]
    })
  })
}

/** An exact decimal number with the value `digits` · 10^−`scale`. */
export interface Decimal {
  readonly digits: bigint
  readonly scale: number
}

/** Reads a number like `7.4558`. @throws RangeError if the text is not digits with at most one point */
export function readDecimal(text: string): Decimal {
  const [, whole, fraction = ''] = /^(\d+)(?:\.(\d+))?$/.exec(text) ?? []
  if (whole === undefined) throw new RangeError('not a decimal number')
  return { digits: BigInt(whole + fraction), scale: fraction.length }
}

/** Writes a number without trailing zeros: `7.5`, `8`. */
export function printDecimal({ digits, scale }: Decimal): string {
  const text = digits.toString().padStart(scale + 1, '0')
  const fraction = text.slice(text.length - scale).replace(/0+$/, '')
  const whole = text.slice(0, text.length - scale)
  return fraction === '' ? whole : `${whole}.${fraction}`
}

/**
 * Money in the format of the checkout: `value` · 10^−`exponent` major units. The client chooses the exponent. The exponent may
 * differ from the decimals of the currency (reference: Amounts of orders).
 */
export interface DecimalMoney {
  readonly exponent: number
  readonly value: number
}

/** The fields of `DecimalMoney`. Users of this schema must check whether the currency is listed. */
export const decimalMoneyShape = {
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/)
    .meta({ pattern: undefined, enum: [...CHARGEABLE] }),
  exponent: z.int().min(0).max(10),
}

/** Converts money to minor units. If it has more decimals than the currency, rounds up. */
export function toMinorUnits({ exponent, value }: DecimalMoney, currencyExponent: number): bigint {
  const shift = currencyExponent - exponent
  if (shift >= 0) return BigInt(value) * 10n ** BigInt(shift)
  const unit = 10n ** BigInt(-shift)
  return (BigInt(value) + unit - 1n) / unit
}
