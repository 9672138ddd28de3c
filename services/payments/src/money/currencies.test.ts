import { describe, expect, it } from 'vitest'
import {
  CHARGEABLE,
  currencyExponent,
  FUNDING,
  hasEnded,
  isChargeable,
  isCurrency,
  isFundingCurrency,
  toEuro,
} from './currencies.ts'

describe('currencies', () => {
  it.each(['ANG', 'BGN', 'BYR', 'HRK', 'MRO', 'SLL', 'STD', 'VEF', 'ZMK', 'ZWL'])(
    '%s was withdrawn: known for what was authorized before, and for nothing else',
    (code) => {
      expect([isCurrency(code), isChargeable(code), isFundingCurrency(code), CHARGEABLE.includes(code)]).toEqual([
        true,
        false,
        false,
        false,
      ])
    },
  )

  it.each([
    ['BYN', 2],
    ['LYD', 3],
    ['SLE', 2],
    ['SSP', 2],
    ['SVC', 2],
    ['VED', 2],
    ['XCG', 2],
    ['ZMW', 2],
    ['ZWG', 2],
    ['ISK', 2],
  ])('%s is current, with %d decimals', (code, exponent) => {
    expect([isChargeable(code), currencyExponent(code)]).toEqual([true, exponent])
  })

  it('merchants may have their balance in eleven currencies', () => {
    expect(FUNDING).toEqual(['CHF', 'CZK', 'DKK', 'EUR', 'GBP', 'HUF', 'NOK', 'PLN', 'RON', 'SEK', 'USD'])
  })

  it.each([
    ['BGN', '2025-12-31', false],
    ['BGN', '2026-01-01', true],
    ['EUR', '2099-01-01', false],
  ])('%s has ended before %s: %s', (code, day, ended) => {
    expect(hasEnded(code, day)).toBe(ended)
  })

  it.each([
    ['BGN', 195_583n, 100_000n],
    ['BGN', 100_00n, 51_13n],
    ['BGN', 1n, 1n],
    ['BGN', 0n, 0n],
    ['BGN', 999_999_999_999n, 511_291_881_196n],
    ['HRK', 753_450n, 100_000n],
    ['HRK', 100_00n, 13_27n],
    ['HRK', 3n, 0n],
    ['HRK', 4n, 1n],
    ['DKK', 100n, undefined],
    ['EUR', 100n, undefined],
  ])('%s %d is worth %s minor units of the euro for good', (code, amount, worth) => {
    expect(toEuro(amount, code)).toBe(worth)
  })
})
