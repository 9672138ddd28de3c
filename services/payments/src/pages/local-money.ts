import Negotiator from 'negotiator'
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

/** The languages of an Accept-Language header, the preferred ones first, without those of weight 0. */
export function preferredLanguages(acceptLanguage: string | undefined): readonly string[] {
  return new Negotiator({ headers: { 'accept-language': acceptLanguage ?? '' } }).languages()
}

/** The locale that a browser prefers among those that can format numbers. English when there is none. */
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
