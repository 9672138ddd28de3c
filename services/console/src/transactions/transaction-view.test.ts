import { describe, expect, it } from 'vitest'
import { stateOf, type Transaction } from './transaction-view.ts'

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
