import Negotiator from 'negotiator'
import { currencyExponent } from '../money/currencies.ts'
import { formatAmount, type Money } from '../money/minor-units.ts'
import da from './languages/da.json' with { type: 'json' }
import de from './languages/de.json' with { type: 'json' }
import en from './languages/en.json' with { type: 'json' }
import es from './languages/es.json' with { type: 'json' }
import fi from './languages/fi.json' with { type: 'json' }
import fr from './languages/fr.json' with { type: 'json' }
import it from './languages/it.json' with { type: 'json' }
import nb from './languages/nb.json' with { type: 'json' }
import nl from './languages/nl.json' with { type: 'json' }
import pl from './languages/pl.json' with { type: 'json' }
import pt from './languages/pt.json' with { type: 'json' }
import sv from './languages/sv.json' with { type: 'json' }

/** The language of a page, and its locale for amounts and dates. */
export interface PageLocale {
  readonly language: Language
  /** A BCP 47 tag whose language is `language`. */
  readonly tag: string
}

const LOCALE = /^([a-z]{2,3})(?:[_-]([a-z]{2}|\d{3}))?$/i
/** Both written standards of Norwegian get the same texts. */
const NORWEGIAN = new Set(['no', 'nn'])
const FALLBACK: PageLocale = { language: 'en', tag: 'en' }

/**
 * Returns the locale that a link or a payment names. Otherwise returns the best locale of the browser, and finally English
 * (reference: Parameters of a link).
 */
export function choosePageLocale(wanted: string | null, acceptLanguage: string | undefined): PageLocale {
  return readLocale(wanted ?? '') ?? preferredPageLocale(acceptLanguage) ?? FALLBACK
}

/** Returns the best locale that the browser requests, or `undefined` if the pages support none of its languages. */
export function preferredPageLocale(acceptLanguage: string | undefined): PageLocale | undefined {
  for (const wish of new Negotiator({ headers: { 'accept-language': acceptLanguage ?? '' } }).languages()) {
    const locale = readLocale(wish)
    if (locale) return locale
  }
  return undefined
}

/** Reads a locale such as `da`, `da_DK`, `da-DK` or `es-419`. Returns `undefined` if the pages do not support the language. */
function readLocale(text: string): PageLocale | undefined {
  const [, subtag = '', region] = LOCALE.exec(text) ?? []
  const code = subtag.toLowerCase()
  const language = NORWEGIAN.has(code) ? 'nb' : code
  if (!isLanguage(language)) return undefined
  return { language, tag: region === undefined ? language : `${language}-${region.toUpperCase()}` }
}

function isLanguage(code: string): code is Language {
  return Object.hasOwn(texts, code)
}

/** Formats an amount for a locale, with the decimals of its currency. */
export function formatLocalMoney(money: Money, locale: string): string {
  return partsOf(money, locale, { style: 'currency', currency: money.currency })
    .map(({ value }) => value)
    .join('')
}

/** The parts of a formatted amount without its currency. */
const NUMBER_PARTS: ReadonlySet<string> = new Set(['integer', 'group', 'decimal', 'fraction'])

/** Returns all forms in which pages write an amount in a locale: with the currency, without it, and as a plain number. */
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
  // A decimal text keeps the exact value of any size.
  return format.formatToParts(formatAmount(currency, BigInt(amount)) as Intl.StringNumericLiteral)
}

export const texts = { en, da, de, sv, nb, fi, fr, es, it, nl, pl, pt } as const satisfies Record<string, typeof en>

/** A language of the payment page, as a BCP 47 code. */
export type Language = keyof typeof texts
/** The name of a text. Every language has all texts. */
export type TextName = keyof typeof en

/** Returns a text with its `{names}` replaced by values. */
export type Translate = (name: TextName, values?: Readonly<Record<string, string>>) => string

export function translatorOf(language: Language): Translate {
  return (name, values = {}) => texts[language][name].replaceAll(/\{(\w+)\}/g, (all, key: string) => values[key] ?? all)
}
