import { currencyExponent } from '../money/currencies.ts'
import { formatAmount, type Money } from '../money/minor-units.ts'

/** An amount as people of the locale write it, with the decimals of its currency. */
export function formatLocalMoney(money: Money, locale: string): string {
  return partsOf(money, locale, { style: 'currency', currency: money.currency })
    .map(({ value }) => value)
    .join('')
}

/** The parts of an amount that are no currency. */
const NUMBER_PARTS: ReadonlySet<string> = new Set(['integer', 'group', 'decimal', 'fraction'])

/** All ways in which pages write an amount in a locale: with the currency, without it, and as a plain number. */
export function localFormsOf(money: Money, locale: string): readonly string[] {
  const parts = partsOf(money, locale, { style: 'currency', currency: money.currency })
  const number = parts.filter(({ type }) => NUMBER_PARTS.has(type))
  const plain = partsOf(money, locale, { style: 'decimal' })
  return [parts, number, plain].map((form) => form.map(({ value }) => value).join(''))
}

function partsOf(
  { currency, amount }: Money,
  locale: string,
  style: Intl.NumberFormatOptions,
): readonly Intl.NumberFormatPart[] {
  const digits = currencyExponent(currency) ?? 0
  const format = new Intl.NumberFormat(locale, {
    ...style,
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  })
  // Decimal text is exact whatever its size.
  return format.formatToParts(formatAmount(currency, BigInt(amount)) as Intl.StringNumericLiteral)
}
