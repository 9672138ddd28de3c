import fc from 'fast-check'
import { expect, it } from 'vitest'
import { COUNTRIES } from '../merchants/countries.ts'
import { CHARGEABLE } from '../money/currencies.ts'
import { choosePageLocale, formatLocalMoney, texts } from '../pages/locale.ts'
import { readTypedAmount, readValue } from './link-amount.ts'

const invalid = { verdict: 'problem', problem: 'invalid' }
const tooLarge = { verdict: 'problem', problem: 'too-large' }

// ASVS 1.4.2
it.each([
  ['10.99', 'EUR', { verdict: 'read', amount: 1_099 }],
  ['10', 'EUR', { verdict: 'read', amount: 1_000 }],
  ['0.01', 'EUR', { verdict: 'read', amount: 1 }],
  ['1000', 'JPY', { verdict: 'read', amount: 1_000 }],
  ['1.234', 'KWD', { verdict: 'read', amount: 1_234 }],
  ['9999999999.99', 'EUR', { verdict: 'read', amount: 999_999_999_999 }],
  ['10000000000.00', 'EUR', tooLarge],
  ['999999999999', 'JPY', { verdict: 'read', amount: 999_999_999_999 }],
  ...['0', '0.00', '0.000', '1.234', '1,50', '-1', '+1', '1e3', '.5', '5.', ' 5', '', '1234567890123'].map(
    (value) => [value, 'EUR', invalid] as const,
  ),
  ['1.5', 'JPY', invalid],
  ['1000.00', 'JPY', { verdict: 'read', amount: 1_000 }],
  ['1000.10', 'JPY', invalid],
  ['10.9900', 'EUR', { verdict: 'read', amount: 1_099 }],
  ['10.9910', 'EUR', invalid],
  ['1.500', 'EUR', { verdict: 'read', amount: 150 }],
] as const)('reads the value %j of a link in %s as %j', (value, currency, read) => {
  expect(readValue(value, currency)).toEqual(read)
})

it.each([
  ['10,50', 'EUR', { verdict: 'read', amount: 1_050 }],
  ['10.50', 'EUR', { verdict: 'read', amount: 1_050 }],
  ['10', 'EUR', { verdict: 'read', amount: 1_000 }],
  [' 1 234,50 ', 'EUR', { verdict: 'read', amount: 123_450 }],
  ['1\u202f234,5', 'EUR', { verdict: 'read', amount: 123_450 }],
  ["1'234.50", 'EUR', { verdict: 'read', amount: 123_450 }],
  ['1.234,50', 'EUR', { verdict: 'read', amount: 123_450 }],
  ['1,234.50', 'EUR', { verdict: 'read', amount: 123_450 }],
  ['1.234.567', 'EUR', { verdict: 'read', amount: 123_456_700 }],
  ['1,234,567', 'JPY', { verdict: 'read', amount: 1_234_567 }],
  ['0,05', 'EUR', { verdict: 'read', amount: 5 }],
  ['1,00,000.50', 'INR', { verdict: 'read', amount: 10_000_050 }],
  ['1,00,000', 'INR', { verdict: 'read', amount: 10_000_000 }],
  ['1000.00', 'JPY', { verdict: 'read', amount: 1_000 }],
  ['1,000', 'JPY', { verdict: 'read', amount: 1_000 }],
  ['1.000', 'JPY', invalid],
  ['€10.50', 'EUR', { verdict: 'read', amount: 1_050 }],
  ['١٠٫٥٠', 'EUR', invalid],
  ['１０．５０'.replace('．', '.'), 'EUR', { verdict: 'read', amount: 1_050 }],
  ['99999999999', 'EUR', tooLarge],
  // `1.000` may mean one thousand, or one with three decimals. The service therefore refuses it.
  ...['1.000', '1,000', '12.34.56', '1,23.4', '1.234.56', 'ten', '', '0', '-5', '5€'].map(
    (value) => [value, 'EUR', invalid] as const,
  ),
] as const)('reads %j, typed for %s, as %j', (typed, currency, read) => {
  expect(readTypedAmount(typed, currency, 'en')).toEqual(read)
})

it.each([
  ['1.000', 'JPY', 'de', 1_000],
  ['1.000', 'JPY', 'es_AR', 1_000],
  ['1’234.50', 'CHF', 'de_CH', 123_450],
  ['1 234,50 kr.', 'DKK', 'fr', undefined],
  ['1.234,50 kr.', 'DKK', 'da', 123_450],
  ['1,00,000.50', 'EUR', 'en_IN', 10_000_050],
] as const)('reads %j, typed for %s on a page for %s, as %j', (typed, currency, wanted, amount) => {
  const { tag } = choosePageLocale(wanted, undefined)
  const read = amount === undefined ? invalid : { verdict: 'read', amount }
  expect(readTypedAmount(typed, currency, tag)).toEqual(read)
})

it('reads what the page writes, in each language and country and currency', () => {
  const locales = fc.tuple(fc.constantFrom(...Object.keys(texts)), fc.constantFrom('', ...COUNTRIES))
  const amounts = fc.oneof(fc.integer({ min: 1, max: 200_000 }), fc.integer({ min: 1, max: 999_999_999_999 }))
  fc.assert(
    fc.property(locales, fc.constantFrom(...CHARGEABLE), amounts, ([language, country], currency, amount) => {
      const { tag } = choosePageLocale(country === '' ? language : `${language}_${country}`, undefined)
      const shown = formatLocalMoney({ currency, amount }, tag)
      expect(readTypedAmount(shown, currency, tag)).toEqual({ verdict: 'read', amount })
      const [number] = /\d.*\d|\d/su.exec(shown) ?? []
      expect(readTypedAmount(number ?? '', currency, tag)).toEqual({ verdict: 'read', amount })
    }),
    { numRuns: 1_000 },
  )
})
