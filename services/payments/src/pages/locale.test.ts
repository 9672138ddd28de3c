import { describe, expect, it } from 'vitest'
import {
  choosePageLocale,
  formatLocalMoney,
  type Language,
  preferredPageLocale,
  texts,
  translatorOf,
} from './locale.ts'

it.each([
  ['da', undefined, 'da', 'da'],
  ['en_US', undefined, 'en', 'en-US'],
  ['de-ch', undefined, 'de', 'de-CH'],
  ['nn', undefined, 'nb', 'nb'],
  ['no_NO', undefined, 'nb', 'nb-NO'],
  // The language of the link is unknown, so the language of the browser applies.
  ['xx', 'fr-CA,fr;q=0.9', 'fr', 'fr-CA'],
  ['en_US_x', 'sv', 'sv', 'sv'],
  [null, 'ja, pl;q=0.5, it;q=0.8', 'it', 'it'],
  [null, 'da;q=0, nl;q=0.1', 'nl', 'nl'],
  [null, 'de;q=wrong, fi', 'fi', 'fi'],
  [null, 'es-419', 'es', 'es-419'],
  ['constructor', '*', 'en', 'en'],
  [null, undefined, 'en', 'en'],
] as const)("chooses for the link's %j and the browser's %j the language %s", (wanted, accepted, language, tag) => {
  expect(choosePageLocale(wanted, accepted)).toEqual({ language, tag })
})

it('prefers no locale when the browser asks for none that the pages have', () => {
  expect(preferredPageLocale('is, *;q=0.5')).toBeUndefined()
  expect(preferredPageLocale('is, da-DK;q=0.5')).toEqual({ language: 'da', tag: 'da-DK' })
})

it.each([
  ['EUR', 123_456, 'en', '€1,234.56'],
  ['EUR', 123_456, 'da', '1.234,56 €'],
  ['JPY', 1_000, 'en', '¥1,000'],
  ['KWD', 1_234, 'en', 'KWD 1.234'],
  ['ISK', 5, 'is', '0,05 kr.'],
  ['EUR', 999_999_999_999, 'de', '9.999.999.999,99 €'],
])('formatLocalMoney: %s %i in %s is %s', (currency, amount, locale, text) => {
  // Replace the no-break spaces that keep an amount on one line.
  expect(formatLocalMoney({ currency, amount }, locale).replaceAll(/\s/g, ' ')).toBe(text)
})

const placesOf = (text: string) => text.match(/\{\w+\}/g)?.sort() ?? []
/** Texts that are the same in this language as in English. */
const SAME: Partial<Record<Language, readonly string[]>> = { da: ['reference'] }

it('has twelve languages', () => {
  expect(Object.keys(texts).sort()).toEqual(
    ['en', 'da', 'de', 'sv', 'nb', 'fi', 'fr', 'es', 'it', 'nl', 'pl', 'pt'].sort(),
  )
})

describe.each(Object.entries(texts).filter(([language]) => language !== 'en'))(
  'the texts of %s',
  (language, translated) => {
    it('has all texts of English, in the same order', () => {
      expect(Object.keys(translated)).toEqual(Object.keys(texts.en))
    })

    it('has no empty text, and none in English', () => {
      for (const [name, text] of Object.entries(translated)) expect(text.trim(), name).not.toBe('')
      const same = Object.entries(texts.en).flatMap(([name, text]) =>
        Reflect.get(translated, name) === text ? [name] : [],
      )
      expect(same).toEqual(Reflect.get(SAME, language) ?? [])
    })

    it('has a place for each value', () => {
      const places = (spoken: object) => Object.entries(spoken).map(([name, text]) => [name, placesOf(text)])
      expect(places(translated)).toEqual(places(texts.en))
    })
  },
)

it('hints at the security code on one line, beside the field of the expiry date, on a phone', () => {
  const long = Object.entries(texts).filter(([, { codeHint }]) => codeHint.length > 22)
  expect(long).toEqual([])
})

it('puts each value in its place', () => {
  expect(translatorOf('da')('pay', { amount: '10,00 kr.' })).toBe('Betal 10,00 kr.')
  expect(translatorOf('en')('pay')).toBe('Pay {amount}')
})
