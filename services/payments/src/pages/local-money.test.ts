import { expect, it } from 'vitest'
import { formatLocalMoney, preferredLocale } from './local-money.ts'

it.each([
  ['EUR', 123_456, 'en', '€1,234.56'],
  ['EUR', 123_456, 'da', '1.234,56 €'],
  ['JPY', 1_000, 'en', '¥1,000'],
  ['KWD', 1_234, 'en', 'KWD 1.234'],
  ['ISK', 5, 'is', '0,05 kr.'],
  ['EUR', 999_999_999_999, 'de', '9.999.999.999,99 €'],
])('formatLocalMoney: %s %i in %s is %s', (currency, amount, locale, text) => {
  // The spaces that keep an amount on one line.
  expect(formatLocalMoney({ currency, amount }, locale).replaceAll(/\s/g, ' ')).toBe(text)
})

it.each([
  [undefined, 'en'],
  ['', 'en'],
  ['*', 'en'],
  ['da', 'da'],
  ['tlh;q=1, sv-SE;q=0.5, en', 'en'],
  ['tlh, sv-SE;q=0.5, en;q=0', 'sv-SE'],
  ['<script>, nb', 'nb'],
])('preferredLocale: %j is %s', (header, locale) => {
  expect(preferredLocale(header)).toBe(locale)
})
