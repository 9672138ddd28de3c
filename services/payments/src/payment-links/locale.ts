import { preferredLanguages } from '../pages/local-money.ts'
import { type Language, texts } from './texts.ts'

/** The language of a page, and how it writes amounts and dates. */
export interface PageLocale {
  readonly language: Language
  /** BCP 47; its language is `language`. */
  readonly tag: string
}

const LOCALE = /^([a-z]{2,3})(?:[_-]([a-z]{2}|\d{3}))?$/i
/** Both written standards of Norwegian get the same texts. */
const NORWEGIAN = new Set(['no', 'nn'])
const FALLBACK: PageLocale = { language: 'en', tag: 'en' }

/**
 * The locale of the link, else the best one that the browser asks for, else English (reference: Parameters of a link).
 */
export function choosePageLocale(wanted: string | null, acceptLanguage: string | undefined): PageLocale {
  const wishes = [wanted ?? '', ...preferredLanguages(acceptLanguage)]
  for (const wish of wishes) {
    const locale = readLocale(wish)
    if (locale) return locale
  }
  return FALLBACK
}

/** Reads `da`, `da_DK`, `da-DK` or `es-419`. Undefined when the page does not have the language. */
function readLocale(text: string): PageLocale | undefined {
  const [, given = '', region] = LOCALE.exec(text) ?? []
  const code = given.toLowerCase()
  const language = NORWEGIAN.has(code) ? 'nb' : code
  if (!isLanguage(language)) return undefined
  return { language, tag: region === undefined ? language : `${language}-${region.toUpperCase()}` }
}

function isLanguage(code: string): code is Language {
  return Object.hasOwn(texts, code)
}
