import { currencyExponent } from '../money/currencies.ts'
import { formatAmount, type Money } from '../money/minor-units.ts'

/** An amount as people of the locale write it, with the decimals of its currency. */
export function formatLocalMoney({ currency, amount }: Money, locale: string): string {
  const digits = currencyExponent(currency) ?? 0
  const format = new Intl.NumberFormat(locale, {
    style: 'currency',
    currency,
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  })
  // Decimal text is exact whatever its size.
  return format.format(formatAmount(currency, BigInt(amount)) as Intl.StringNumericLiteral)
}
