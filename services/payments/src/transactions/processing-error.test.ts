import { expect, it } from 'vitest'
import { isRefusal, processingError, processingErrorOf, statusCodeOf } from './processing-error.ts'
import table from './processing-errors.json' with { type: 'json' }

// ASVS 15.3.1
it('shows clients the fields of a processing error, and nothing else of the table', () => {
  expect(processingError(7)).toEqual({
    code: 7,
    message: 'Insufficient funds',
    text: 'Insufficient funds',
    client: true,
    merchant: false,
  })
})

it('has 29 errors, without 23 and 24', () => {
  expect(table.errors.map(({ code }) => code)).toEqual([
    ...Array.from({ length: 22 }, (_, index) => index + 1),
    25,
    26,
    27,
    28,
    29,
    30,
    31,
  ])
  for (const code of [0, 23, 24, 32]) expect(() => processingError(code)).toThrow(RangeError)
})

it('finds the processing error of each status code that has one', () => {
  for (const { code, statusCodes } of table.errors) {
    for (const statusCode of statusCodes)
      expect([isRefusal(statusCode), processingErrorOf(statusCode)]).toEqual([true, code])
  }
  expect(processingErrorOf('PAYMENT_INSUFFICIENT_FUNDS')).toBe(7)
  expect([7, 8, 27, 28, 29].map(statusCodeOf)).toEqual([
    'PAYMENT_INSUFFICIENT_FUNDS',
    'PAYMENT_RECEIVER_BLOCKED',
    'PAYMENT_INTEGRATION_DISABLED',
    'PAYMENT_INTEGRATION_DISABLED',
    'PAYMENT_CARD_SCHEME_UNKNOWN',
  ])
  for (const code of ['NOT_A_CODE', 'REQUEST_INVALID']) {
    expect(isRefusal(code)).toBe(false)
    expect(() => processingErrorOf(code)).toThrow(RangeError)
  }
})
