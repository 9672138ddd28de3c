import { currencyExponent } from '../money/currencies.ts'
import { type Decimal, readDecimal } from '../money/decimal.ts'

/** Why a text is no amount. */
export type AmountProblem = 'invalid' | 'too-large'
/** An amount in minor units, or what is wrong with the text. */
export type ReadAmount =
  | { readonly verdict: 'read'; readonly amount: number }
  | { readonly verdict: 'problem'; readonly problem: AmountProblem }

/** The most characters of a typed amount. */
export const TYPED_LENGTH_MAX = 40
const AMOUNT_MAX = 999_999_999_999n
const VALUE = /^[0-9]{1,12}(?:\.[0-9]+)?$/
/** The whole part and the decimals, without groups, or with groups of three by the other separator. */
const TYPED = [
  /^(\d+)(?:[.,](\d+))?$/,
  /^(\d{1,3}(?:\.\d{3})+)(?:,(\d+))?$/,
  /^(\d{1,3}(?:,\d{3})+)(?:\.(\d+))?$/,
] as const

/** Reads the `value` of a link, in major units (reference: Parameters of a link). */
export function readValue(value: string, currency: string): ReadAmount {
  return VALUE.test(value) ? toAmount(readDecimal(value), currency) : { verdict: 'problem', problem: 'invalid' }
}

/**
 * Reads a typed amount, with a point or a comma before the decimals. A separator that could mean either counts as
 * decimals, and is refused where the currency has fewer. So nobody pays a thousand times too much.
 */
export function readTypedAmount(text: string, currency: string): ReadAmount {
  const typed = text.replaceAll(/[\s'’]/g, '')
  const [, whole, decimals] = TYPED.map((form) => form.exec(typed)).find((found) => found !== null) ?? []
  if (whole === undefined) return { verdict: 'problem', problem: 'invalid' }
  const digits = whole.replaceAll(/[.,]/g, '')
  return toAmount(readDecimal(decimals === undefined ? digits : `${digits}.${decimals}`), currency)
}

function toAmount({ digits, scale }: Decimal, currency: string): ReadAmount {
  const exponent = currencyExponent(currency) ?? 0
  if (scale > exponent) return { verdict: 'problem', problem: 'invalid' }
  const amount = digits * 10n ** BigInt(exponent - scale)
  if (amount > AMOUNT_MAX) return { verdict: 'problem', problem: 'too-large' }
  return amount === 0n ? { verdict: 'problem', problem: 'invalid' } : { verdict: 'read', amount: Number(amount) }
}
