import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { money, percent, readMoney, readPercent, typedMoney, typedPercent } from './money.ts'

/** Currencies with their decimal places, as payments lists them. None has four decimal places yet. */
const decimals = new Map([
  ['EUR', 2],
  ['HUF', 2],
  ['ISK', 2],
  ['JPY', 0],
  ['KWD', 3],
  ['IQD', 3],
  ['CLF', 4],
])
const codes = [...decimals.keys()]

describe('money', () => {
  it.each([
    [100_000, 'HUF', 'HUF 1,000.00'],
    [100_000, 'ISK', 'ISK 1,000.00'],
    [123_450, 'EUR', 'EUR 1,234.50'],
    [5, 'EUR', 'EUR 0.05'],
    [0, 'EUR', 'EUR 0.00'],
    [-5, 'EUR', 'EUR -0.05'],
    [-123_456_789, 'EUR', 'EUR -1,234,567.89'],
    [0, 'JPY', 'JPY 0'],
    [999, 'JPY', 'JPY 999'],
    [1_000, 'JPY', 'JPY 1,000'],
    [1_234, 'KWD', 'KWD 1.234'],
    [1_234_567, 'IQD', 'IQD 1,234.567'],
    [1, 'CLF', 'CLF 0.0001'],
    [12_345_678, 'CLF', 'CLF 1,234.5678'],
    [Number.MAX_SAFE_INTEGER, 'EUR', 'EUR 90,071,992,547,409.91'],
    [Number.MAX_SAFE_INTEGER, 'JPY', 'JPY 9,007,199,254,740,991'],
    [-(2 ** 60), 'EUR', 'EUR -11,529,215,046,068,469.76'],
    [1_250, 'ABC', 'ABC 1250 minor units'],
  ])('writes %i minor units of %s as %s', (amount, currency, expected) => {
    expect(money(amount, currency, decimals)).toBe(expected)
  })
})

describe('readMoney', () => {
  it.each<[string, string, number | undefined]>([
    ['1000', 'HUF', 100_000],
    ['1000.00', 'HUF', 100_000],
    ['12.50', 'EUR', 1_250],
    ['12,50', 'EUR', 1_250],
    ['12,5', 'EUR', 1_250],
    ['12', 'EUR', 1_200],
    [' 12.50 ', 'EUR', 1_250],
    ['0', 'EUR', 0],
    ['007', 'EUR', 700],
    ['0.01', 'EUR', 1],
    ['12.345', 'EUR', undefined],
    ['12.500', 'EUR', undefined],
    ['1000', 'JPY', 1_000],
    ['1000.0', 'JPY', undefined],
    ['1.234', 'KWD', 1_234],
    ['1.2345', 'KWD', undefined],
    ['1,234', 'KWD', undefined],
    ['1,234', 'EUR', undefined],
    ['1,234', 'JPY', undefined],
    ['1,234.50', 'EUR', undefined],
    ['1.234,50', 'EUR', undefined],
    ['1 234.50', 'EUR', undefined],
    ['1.2345', 'CLF', 12_345],
    ['1,2345', 'CLF', 12_345],
    ['-1', 'EUR', undefined],
    ['+1', 'EUR', undefined],
    ['1e3', 'EUR', undefined],
    ['1.', 'EUR', undefined],
    ['.5', 'EUR', undefined],
    ['', 'EUR', undefined],
    [' ', 'EUR', undefined],
    ['EUR 1', 'EUR', undefined],
    ['٣', 'EUR', undefined],
    ['999999999999.99', 'EUR', 99_999_999_999_999],
    ['1000000000000', 'EUR', undefined],
    ['900719925474.0991', 'CLF', 9_007_199_254_740_991],
    ['900719925474.0992', 'CLF', undefined],
    ['1', 'ABC', undefined],
  ])('reads %j in %s as %j minor units', (text, currency, expected) => {
    expect(readMoney(text, currency, decimals)).toBe(expected)
  })
})

describe('typedMoney', () => {
  it.each([
    [123_450, 'EUR', '1234.50'],
    [100_000, 'HUF', '1000.00'],
    [1_234, 'JPY', '1234'],
    [5, 'KWD', '0.005'],
    [-5, 'EUR', '-0.05'],
    [1_250, 'ABC', ''],
  ])('writes %i minor units of %s for a field as %j', (amount, currency, expected) => {
    expect(typedMoney(amount, currency, decimals)).toBe(expected)
  })

  it('is read back as the same amount, with none to four decimals', () => {
    const amount = fc.integer({ min: 0, max: 999_999_999_999 })
    fc.assert(
      fc.property(fc.constantFrom(...codes), amount, (code, minor) => {
        const typed = typedMoney(minor, code, decimals)
        expect(readMoney(typed, code, decimals)).toBe(minor)
        expect(money(minor, code, decimals).replaceAll(',', '')).toBe(`${code} ${typed}`)
      }),
      { examples: codes.flatMap((code) => [0, 1, 99, 1_000, 999_999_999_999].map((minor) => [code, minor])) },
    )
  })
})

describe('percent', () => {
  it.each([
    [145, '1.45 %'],
    [5, '0.05 %'],
    [0, '0.00 %'],
    [10_000, '100.00 %'],
  ])('writes %i basis points as %s', (basisPoints, expected) => {
    expect(percent(basisPoints)).toBe(expected)
  })
})

describe('readPercent', () => {
  it.each<[string, number | undefined]>([
    ['1.45', 145],
    ['1,4', 140],
    [' 0 ', 0],
    ['100', 10_000],
    ['100.01', undefined],
    ['1.455', undefined],
    ['-1', undefined],
    ['1 %', undefined],
    ['', undefined],
  ])('reads %j as %j basis points', (text, expected) => {
    expect(readPercent(text)).toBe(expected)
  })

  it('reads back what a field is filled in with', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10_000 }), (basisPoints) => {
        expect(readPercent(typedPercent(basisPoints))).toBe(basisPoints)
      }),
    )
  })
})
