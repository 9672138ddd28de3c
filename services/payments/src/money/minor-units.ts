import { currencyExponent, isCurrency } from './currencies.ts'

/** An amount in the minor units of its currency. */
export interface Money {
  readonly currency: string
  readonly amount: number
}

/** The largest amount of a payment, in minor units: twelve digits, as in the messages of schemes. */
export const AMOUNT_MAX = 999_999_999_999n

/** `EUR 3.00`: code and major units with exactly the decimals of the currency, no grouping (reference: Field errors). */
export function formatMoney(currency: string, amount: bigint): string {
  return `${currency} ${formatAmount(currency, amount)}`
}

/** `-3.00`: major units with exactly the decimals of the currency, no grouping. */
export function formatAmount(currency: string, amount: bigint): string {
  if (amount < 0n) return `-${formatAmount(currency, -amount)}`
  const exponent = currencyExponent(currency) ?? 0
  const digits = amount.toString().padStart(exponent + 1, '0')
  const whole = digits.slice(0, digits.length - exponent)
  return exponent === 0 ? whole : `${whole}.${digits.slice(-exponent)}`
}

/** Reads `EUR:25`, a listed currency and minor units of up to twelve digits. Undefined for any other text. */
export function readMoney(text: string): Money | undefined {
  const [, currency, amount] = /^([A-Z]{3}):(\d{1,12})$/.exec(text) ?? []
  return currency !== undefined && isCurrency(currency) ? { currency, amount: Number(amount) } : undefined
}
