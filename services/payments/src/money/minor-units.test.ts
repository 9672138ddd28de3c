import { describe, expect, it } from 'vitest'
import { currencyExponent, listCurrencies } from './currencies.ts'
import { formatAmount, formatMoney, readMeantAmounts, readMoney, toMinorUnits } from './minor-units.ts'

describe('formatMoney', () => {
  it.each([
    ['EUR', 300n, 'EUR 3.00'],
    ['EUR', 0n, 'EUR 0.00'],
    ['EUR', 5n, 'EUR 0.05'],
    ['JPY', 300n, 'JPY 300'],
    ['JPY', 0n, 'JPY 0'],
    ['KWD', 1_234n, 'KWD 1.234'],
    ['USD', 999_999_999_999n, 'USD 9999999999.99'],
  ])('writes %s %s as %s, with its currency', (currency, amount, expected) => {
    expect(formatMoney(currency, amount)).toBe(expected)
  })
})

describe('formatAmount', () => {
  it.each([
    ['EUR', -5n, '-0.05'],
    ['JPY', -300n, '-300'],
    ['KWD', -1_234n, '-1.234'],
    ['EUR', 0n, '0.00'],
  ])('writes %s %s as %s, with the decimals of the currency', (currency, amount, expected) => {
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

describe('readMeantAmounts', () => {
  /** Returns the amounts that the text means in euro, forint, a dinar with three decimals, and yen. */
  const meantIn = (text: string) => {
    const meant = readMeantAmounts(text)
    const amountsIn = (code: string) =>
      meant.filter(({ currencies }) => currencies.includes(code)).map(({ amount }) => Number(amount))
    return ['EUR', 'HUF', 'KWD', 'JPY'].map(amountsIn)
  }

  it.each<[string, number[][]]>([
    ['12.50', [[1_250], [1_250], [12_500], []]],
    ['12,5', [[1_250], [1_250], [12_500], []]],
    ['12.345', [[], [], [12_345], []]],
    ['0.00', [[0], [0], [0], []]],
    ['HUF 1000', [[], [100_000], [], []]],
    ['huf  1000.5', [[], [100_050], [], []]],
    ['JPY 1000', [[], [], [], [1_000]]],
    ['JPY 1000.0', [[], [], [], []]],
    ['EUR 1,234.50', [[123_450], [], [], []]],
    ['1,234', [[123_400], [123_400], [1_234, 1_234_000], [1_234]]],
    ['1,234,567.89', [[123_456_789], [123_456_789], [1_234_567_890], []]],
    ['999999999999.99', [[99_999_999_999_999], [99_999_999_999_999], [999_999_999_999_990], []]],
    ['1000', [[1_000], [1_000], [1_000], [1_000]]],
    ['1234567890123456', [[], [], [], []]],
    ['1000000000000.00', [[], [], [], []]],
    ['-1.00', [[], [], [], []]],
    ['1.', [[], [], [], []]],
    ['.5', [[], [], [], []]],
    ['1,23.45', [[], [], [], []]],
    ['1.2345', [[], [], [], []]],
    ['XXX 1.00', [[], [], [], []]],
    ['EUR', [[], [], [], []]],
    ['', [[], [], [], []]],
  ])('reads %j in each currency as what it may mean there', (text, expected) => {
    expect(meantIn(text)).toEqual(expected)
  })

  it('reads what formatMoney writes as that amount, in every currency', () => {
    for (const { code } of listCurrencies()) {
      for (const amount of [0n, 1n, 99n, 1_000n, 123_456_789n, 999_999_999_999n]) {
        expect(readMeantAmounts(formatMoney(code, amount))).toEqual([{ amount, currencies: [code] }])
      }
      expect(currencyExponent(code)).toBeTypeOf('number')
    }
  })
})

it.each([
  [{ exponent: 2, value: 1855 }, 2, 1855n],
  [{ exponent: 0, value: 18 }, 2, 1800n],
  [{ exponent: 3, value: 1855 }, 2, 186n],
  [{ exponent: 3, value: 1850 }, 2, 185n],
  [{ exponent: 3, value: 1851 }, 2, 186n],
  [{ exponent: 10, value: 1 }, 2, 1n],
  [{ exponent: 2, value: 100 }, 0, 1n],
  [{ exponent: 2, value: 101 }, 0, 2n],
  [{ exponent: 0, value: 9_007_199_254_740_991 }, 3, 9_007_199_254_740_991_000n],
  [{ exponent: 2, value: 0 }, 2, 0n],
])('toMinorUnits of %j in a currency with exponent %i is %i', (money, exponent, minor) => {
  expect(toMinorUnits(money, exponent)).toBe(minor)
})
