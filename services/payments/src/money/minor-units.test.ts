import { describe, expect, it } from 'vitest'
import { formatMoney } from './minor-units.ts'

describe('formatMoney', () => {
  it.each([
    ['EUR', 300n, 'EUR 3.00'],
    ['EUR', 0n, 'EUR 0.00'],
    ['EUR', 5n, 'EUR 0.05'],
    ['JPY', 300n, 'JPY 300'],
    ['JPY', 0n, 'JPY 0'],
    ['KWD', 1_234n, 'KWD 1.234'],
    ['USD', 999_999_999_999n, 'USD 9999999999.99'],
  ])('%s %s is %s', (currency, amount, expected) => {
    expect(formatMoney(currency, amount)).toBe(expected)
  })
})
