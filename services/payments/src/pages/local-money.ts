import Negotiator from 'negotiator'
import { currencyExponent } from '../money/currencies.ts'
import { formatAmount, type Money } from '../money/minor-units.ts'

/** An amount as people of a locale write it, with the decimals of its currency. */
export function formatLocalMoney({ currency, amount }: Money, locale: string): string {
  const digits = currencyExponent(currency) ?? 0
  const format = new Intl.NumberFormat(locale, {
    style: 'currency',
    currency,
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  })
  // As decimal text it is exact, whatever its size.
  return format.format(formatAmount(currency, BigInt(amount)) as Intl.StringNumericLiteral)
}

/** The languages of an Accept-Language header, the best first; those with a weight of 0 are left out. */
export function preferredLanguages(acceptLanguage: string | undefined): readonly string[] {
  return new Negotiator({ headers: { 'accept-language': acceptLanguage ?? '' } }).languages()
}

/** The locale that a browser likes best, of those that numbers can be written in; English when there is none. */
export function preferredLocale(acceptLanguage: string | undefined): string {
  return preferredLanguages(acceptLanguage).find(isLocale) ?? 'en'
}

function isLocale(tag: string): boolean {
  try {
    return Intl.NumberFormat.supportedLocalesOf(tag).length > 0
  } catch {
    return false
  }
}
