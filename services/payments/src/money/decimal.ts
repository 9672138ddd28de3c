import { z } from 'zod'
import { CHARGEABLE } from './currencies.ts'

/** An exact decimal number: `digits` · 10^−`scale`. */
export interface Decimal {
  readonly digits: bigint
  readonly scale: number
}

/** Reads `7.4558`. @throws RangeError unless the text is digits with at most one point between them */
export function readDecimal(text: string): Decimal {
  const [, whole, fraction = ''] = /^(\d+)(?:\.(\d+))?$/.exec(text) ?? []
  if (whole === undefined) throw new RangeError('not a decimal number')
  return { digits: BigInt(whole + fraction), scale: fraction.length }
}

/** Writes a number without zeros at its end: `7.5`, `8`. */
export function printDecimal({ digits, scale }: Decimal): string {
  const text = digits.toString().padStart(scale + 1, '0')
  const fraction = text.slice(text.length - scale).replace(/0+$/, '')
  const whole = text.slice(0, text.length - scale)
  return fraction === '' ? whole : `${whole}.${fraction}`
}

/**
 * Money as the checkout writes it: `value` · 10^−`exponent` major units. The client chooses the exponent; it may differ from
 * the decimals of the currency (reference: Amounts of orders).
 */
export interface DecimalMoney {
  readonly exponent: number
  readonly value: number
}

/** The fields of such money. The reader judges whether the currency is listed. */
export const decimalMoneyShape = {
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/)
    .meta({ pattern: undefined, enum: [...CHARGEABLE] }),
  exponent: z.int().min(0).max(10),
}

/** Minor units of a currency with so many decimals. Money that is finer than the currency is rounded up. */
export function toMinorUnits({ exponent, value }: DecimalMoney, currencyExponent: number): bigint {
  const shift = currencyExponent - exponent
  if (shift >= 0) return BigInt(value) * 10n ** BigInt(shift)
  const unit = 10n ** BigInt(-shift)
  return (BigInt(value) + unit - 1n) / unit
}
