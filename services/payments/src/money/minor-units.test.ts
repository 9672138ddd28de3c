import { describe, expect, it } from 'vitest'
import { formatAmount, formatMoney, readMoney } from './minor-units.ts'

describe('formatMoney', () => {
  it.each([
    ['EUR', 300n, 'EUR 3.00'],
    ['EUR', 0n, 'EUR 0.00'],
    ['EUR', 5n, 'EUR 0.05'],
    ['JPY', 300n, 'JPY 300'],
    ['JPY', 0n, 'JPY 0'],
    ['KWD', 1_234n, 'KWD 1.234'],
    ['USD', 999_999_999_999n, 'USD 9999999999.99'],
  ])('writes %s %s as %s', (currency, amount, expected) => {
    expect(formatMoney(currency, amount)).toBe(expected)
  })
})

describe('formatAmount', () => {
  it.each([
    ['EUR', -5n, '-0.05'],
    ['JPY', -300n, '-300'],
    ['KWD', -1_234n, '-1.234'],
    ['EUR', 0n, '0.00'],
  ])('writes %s %s as %s', (currency, amount, expected) => {
    expect(formatAmount(currency, amount)).toBe(expected)
  })
})

describe('readMoney', () => {
  it.each([
    ['EUR:25', { currency: 'EUR', amount: 25 }],
    ['JPY:0', { currency: 'JPY', amount: 0 }],
    ['XXX:1', undefined],
    ['EUR:-1', undefined],
    ['EUR:1.5', undefined],
    ['EUR 25', undefined],
    ['', undefined],
  ])('reads %j as the money %j', (text, expected) => {
    expect(readMoney(text)).toEqual(expected)
  })
})
