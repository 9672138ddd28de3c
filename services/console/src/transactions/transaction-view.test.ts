import { describe, expect, it } from 'vitest'
import { readCardAndAmount, stateOf, type Transaction } from './transaction-view.ts'

const AUTHORIZED: Transaction = {
  id: '6901f3a000000000c0ffee00',
  merchantId: '6901f3a0000000000a1b2c3d',
  test: false,
  created: '2026-03-01T12:00:00.000Z',
  currency: 'EUR',
  amount: 9_900,
  descriptor: 'SHOP',
  pendingAmount: 9_900,
  capturedAmount: 0,
  refundedAmount: 0,
  voidedAmount: 0,
  disputedAmount: 0,
  card: { bin: '424242', last4: '4242', expiry: '2030-01', code: { present: true } },
  recurring: false,
  successful: true,
  error: false,
  trail: [],
}

describe('stateOf', () => {
  it.each([
    ['Authorized', {}],
    ['Partly captured', { pendingAmount: 3_300, capturedAmount: 6_600 }],
    ['Partly captured', { pendingAmount: 0, capturedAmount: 6_600, voidedAmount: 3_300 }],
    ['Captured', { pendingAmount: 0, capturedAmount: 9_900 }],
    ['Partly refunded', { pendingAmount: 0, capturedAmount: 9_900, refundedAmount: 1 }],
    ['Refunded', { pendingAmount: 0, capturedAmount: 9_900, refundedAmount: 9_900 }],
    ['Voided', { pendingAmount: 0, voidedAmount: 9_900 }],
    ['Authorized', { pendingAmount: 6_600, voidedAmount: 3_300 }],
    ['Disputed', { pendingAmount: 0, capturedAmount: 9_900, refundedAmount: 100, disputedAmount: 100 }],
    ['Verified', { amount: 0, pendingAmount: 0 }],
    ['Refused', { successful: false, pendingAmount: 0 }],
  ] as const)('is %s where the amounts are %o', (text, amounts) => {
    expect(stateOf({ ...AUTHORIZED, ...amounts }).text).toBe(text)
  })
})

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
