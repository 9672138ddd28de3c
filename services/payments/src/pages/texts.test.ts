import { describe, expect, it } from 'vitest'
import { type Language, texts, translatorOf } from './texts.ts'

const placesOf = (text: string) => text.match(/\{\w+\}/g)?.sort() ?? []
/** Words that the language writes as English does. */
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
