import { describe, expect, it } from 'vitest'
import { readCardAndAmount } from './card-and-amount.ts'

const decimals = new Map([
  ['EUR', 2],
  ['JPY', 0],
  ['KWD', 3],
])

describe('readCardAndAmount', () => {
  it.each([
    ['4242 49.99', '4242', ['EUR', 4_999]],
    ['49,99 4242', '4242', ['EUR', 4_999]],
    ['4242  eur 49.99', '4242', ['EUR', 4_999]],
    ['EUR 1,234.50 0007', '0007', ['EUR', 123_450]],
    ['0007 €12', '0007', ['EUR', 1_200]],
    ['4242 1200', '4242', ['JPY', 1_200]],
    ['4242 1200', '4242', ['EUR', 1_200]],
    ['4242 1200', '4242', ['EUR', 120_000]],
    ['4242 1.250', '4242', ['KWD', 1_250]],
  ] as const)('%s asks for cards that end in %s, and for %o', (text, last4, [currency, amount]) => {
    const read = readCardAndAmount(text)
    expect([read?.last4, read?.isOf({ currency, amount }, decimals)]).toEqual([last4, true])
  })

  it.each([
    ['4242 49.99', 'EUR', 4_998],
    ['4242 USD 49.99', 'EUR', 4_999],
    ['4242 EUR 1200', 'EUR', 1_200],
    ['4242 49.99', 'JPY', 4_999],
  ])('%s leaves out %s %i', (text, currency, amount) => {
    expect(readCardAndAmount(text)?.isOf({ currency, amount }, decimals)).toBe(false)
  })

  it.each(['4242', '49.99', '424 49.99', '4242 Coffee', 'EUR 4242', 'EUR 1250', '4242 4242 4242', ''])(
    '"%s" names no card with an amount',
    (text) => {
      expect(readCardAndAmount(text)).toBeUndefined()
    },
  )
})
