import { asciiDigits, digitsIn } from '../cards/card-number.ts'
import { currencyExponent } from '../money/currencies.ts'
import { type Decimal, type Money, readDecimal } from '../money/minor-units.ts'
import { localFormsOf } from '../pages/locale.ts'

export type AmountProblem = 'invalid' | 'too-large'
/** An amount in minor units, or the problem of the text. */
export type ReadAmount =
  | { readonly verdict: 'read'; readonly amount: number }
  | { readonly verdict: 'problem'; readonly problem: AmountProblem }

export const TYPED_LENGTH_MAX = 40
const INVALID: ReadAmount = { verdict: 'problem', problem: 'invalid' }
const AMOUNT_MAX = 999_999_999_999n
const VALUE = /^[0-9]{1,12}(?:\.[0-9]{1,20})?$/
/** Whole part and decimals. The other separator may group the whole part by three digits, or by two as in India. */
const TYPED = [
  /^(\d+)(?:[.,](\d+))?$/,
  /^(\d{1,3}(?:\.\d{3})+)(?:,(\d+))?$/,
  /^(\d{1,3}(?:,\d{3})+)(?:\.(\d+))?$/,
  /^(\d{1,2}(?:,\d{2})+,\d{3})(?:\.(\d+))?$/,
] as const
/** If this many digits follow a separator, it may separate thousands. */
const GROUP_LENGTH = 3

/** Reads the `value` of a link, in major units (reference: Parameters of a link). */
export function readValue(value: string, currency: string): ReadAmount {
  return VALUE.test(value) ? toAmount(shortened(readDecimal(value), currency), currency) : INVALID
}

/**
 * Reads a typed amount. It accepts the format of the locale, and any number with a point or a comma before the decimals. If a
 * separator could mean thousands or decimals, it counts as a decimal separator. The amount is refused if the currency has fewer
 * decimals. So no customer pays a thousand times too much.
 */
export function readTypedAmount(text: string, currency: string, locale: string): ReadAmount {
  const typed = comparable(text)
  const written = digitsIn(typed)
  if (isWritten(typed, { currency, amount: Number(written) }, locale)) {
    return toAmount({ digits: BigInt(written), scale: currencyExponent(currency) ?? 0 }, currency)
  }
  const [, whole, decimals] = TYPED.map((form) => form.exec(typed)).find((found) => found !== null) ?? []
  if (whole === undefined) return INVALID
  const digits = whole.replaceAll(/[.,]/g, '')
  const read = readDecimal(decimals === undefined ? digits : `${digits}.${decimals}`)
  const mayBeThousands = decimals?.length === GROUP_LENGTH && digits === whole
  return toAmount(mayBeThousands ? read : shortened(read, currency), currency)
}

function isWritten(typed: string, money: Money, locale: string): boolean {
  if (!Number.isSafeInteger(money.amount)) return false
  return localFormsOf(money, locale).some((form) => comparable(form) === typed)
}

/** Returns the text without characters that people omit or type differently: blanks, apostrophes and direction marks. */
function comparable(text: string): string {
  return asciiDigits(text).replaceAll(/[\s\p{Cf}'’]/gu, '')
}

/** Removes zeros at the end that exceed the decimals of the currency. */
function shortened({ digits, scale }: Decimal, currency: string): Decimal {
  const exponent = currencyExponent(currency) ?? 0
  if (scale <= exponent || digits % 10n !== 0n) return { digits, scale }
  return shortened({ digits: digits / 10n, scale: scale - 1 }, currency)
}

function toAmount({ digits, scale }: Decimal, currency: string): ReadAmount {
  const exponent = currencyExponent(currency) ?? 0
  if (scale > exponent) return { verdict: 'problem', problem: 'invalid' }
  const amount = digits * 10n ** BigInt(exponent - scale)
  if (amount > AMOUNT_MAX) return { verdict: 'problem', problem: 'too-large' }
  return amount === 0n ? { verdict: 'problem', problem: 'invalid' } : { verdict: 'read', amount: Number(amount) }
}
