import { describe, expect, it } from 'vitest'
import { judgeRefund, parseAmounts, refundableOf } from './refund-limits.ts'

describe('the limits of refunds', () => {
  it('are read as amounts in minor units by currency', () => {
    expect(parseAmounts('EUR:10000, JPY:1')).toEqual(
      new Map([
        ['EUR', 10_000],
        ['JPY', 1],
      ]),
    )
  })

  it('are read in currencies that have ended, whose payments are still refunded', () => {
    expect(parseAmounts('BGN:20000')).toEqual(new Map([['BGN', 20_000]]))
  })

  it.each(['', 'EUR', 'EUR:', 'EUR:0', 'EUR:-1', 'EUR:1.5', 'eur:1', 'XXX:1', 'EUR:1,EUR:2', 'EUR:1000000000000'])(
    'are not read from %j',
    (text) => {
      expect(parseAmounts(text)).toBeUndefined()
    },
  )

  const limits = {
    once: new Map([
      ['EUR', 100],
      ['DKK', 100],
    ]),
    daily: new Map([
      ['EUR', 500],
      ['USD', 500],
    ]),
  }
  it.each([
    ['EUR', 1, { verdict: 'within', limit: 100, daily: 500, counted: 5 }],
    ['EUR', 5, { verdict: 'within', limit: 100, daily: 500, counted: 5 }],
    ['EUR', 100, { verdict: 'within', limit: 100, daily: 500, counted: 100 }],
    ['EUR', 101, { verdict: 'exceeded', limit: 100, daily: 500 }],
    ['DKK', 1, { verdict: 'not-allowed' }],
    ['USD', 1, { verdict: 'not-allowed' }],
    ['GBP', 1, { verdict: 'not-allowed' }],
  ])('judge a refund of %s %i as %j', (currency, amount, verdict) => {
    expect(judgeRefund(limits, { currency, amount })).toEqual(verdict)
  })

  it.each([
    [500, 500, 500],
    [5, 500, 5],
    [4, 500, 0],
    [1, 99, 1],
    [0, 99, 0],
    [-1, 500, 0],
    [1, 101, 0],
  ])('leave of %i of a day of %i the amount %i', (left, daily, refundable) => {
    expect(refundableOf(left, daily)).toBe(refundable)
  })
})
