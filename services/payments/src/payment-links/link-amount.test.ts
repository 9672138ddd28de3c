import { expect, it } from 'vitest'
import { readTypedAmount, readValue } from './link-amount.ts'

const invalid = { verdict: 'problem', problem: 'invalid' }
const tooLarge = { verdict: 'problem', problem: 'too-large' }

// ASVS 1.4.2
it.each([
  ['10.99', 'EUR', { verdict: 'read', amount: 1_099 }],
  ['10', 'EUR', { verdict: 'read', amount: 1_000 }],
  ['0.01', 'EUR', { verdict: 'read', amount: 1 }],
  ['1000', 'JPY', { verdict: 'read', amount: 1_000 }],
  ['1.234', 'KWD', { verdict: 'read', amount: 1_234 }],
  ['9999999999.99', 'EUR', { verdict: 'read', amount: 999_999_999_999 }],
  ['10000000000.00', 'EUR', tooLarge],
  ['999999999999', 'JPY', { verdict: 'read', amount: 999_999_999_999 }],
  ...['0', '0.00', '1.234', '1,50', '-1', '+1', '1e3', '.5', '5.', ' 5', '', '1234567890123'].map(
    (value) => [value, 'EUR', invalid] as const,
  ),
  ['1.5', 'JPY', invalid],
] as const)('reads the value %j of a link in %s as %j', (value, currency, read) => {
  expect(readValue(value, currency)).toEqual(read)
})

it.each([
  ['10,50', 'EUR', { verdict: 'read', amount: 1_050 }],
  ['10.50', 'EUR', { verdict: 'read', amount: 1_050 }],
  ['10', 'EUR', { verdict: 'read', amount: 1_000 }],
  [' 1 234,50 ', 'EUR', { verdict: 'read', amount: 123_450 }],
  ['1\u202f234,5', 'EUR', { verdict: 'read', amount: 123_450 }],
  ["1'234.50", 'EUR', { verdict: 'read', amount: 123_450 }],
  ['1.234,50', 'EUR', { verdict: 'read', amount: 123_450 }],
  ['1,234.50', 'EUR', { verdict: 'read', amount: 123_450 }],
  ['1.234.567', 'EUR', { verdict: 'read', amount: 123_456_700 }],
  ['1,234,567', 'JPY', { verdict: 'read', amount: 1_234_567 }],
  ['0,05', 'EUR', { verdict: 'read', amount: 5 }],
  ['99999999999', 'EUR', tooLarge],
  // `1.000` may be a thousand, or one with three decimals, so it is refused.
  ...['1.000', '1,000', '12.34.56', '1,23.4', '1.234.56', 'ten', '', '0', '-5', '5€'].map(
    (value) => [value, 'EUR', invalid] as const,
  ),
] as const)('reads %j, typed for %s, as %j', (typed, currency, read) => {
  expect(readTypedAmount(typed, currency)).toEqual(read)
})
