import { expect, it } from 'vitest'
import { formatLocalMoney } from './local-money.ts'

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
