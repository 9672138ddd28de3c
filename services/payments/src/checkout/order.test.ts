import { describe, expect, it } from 'vitest'
import type { OrderProblem } from '../errors.ts'
import { moneyOf, orderDigest, orderProblem, toDescriptor } from './order.ts'
import { PaymentBody } from './payment-body.ts'

const now = new Date('2026-11-20T12:00:00.000Z')
const eur = { currency: 'EUR', exponent: 2, value: 900 }
const order = (changes: object = {}) =>
  PaymentBody.parse({
    integration: { key: 'ABC' },
    amount: eur,
    card: { number: 'n', code: 'c', expiry: { month: 1, year: 2030 } },
    ...changes,
  })
const scheduled = (date: string) => ({ amount: eur, scheduled: date })
const repeated = (first?: string, count?: number) => ({
  amount: eur,
  repeat: { first, count, interval: { unit: 'week' } },
})

describe('orderProblem', () => {
  it.each<[object, OrderProblem | undefined]>([
    [{}, undefined],
    [{ amount: undefined, unplanned: { customer: true } }, undefined],
    [{ plan: [scheduled('2026-11-20T12:00:00.001Z')] }, undefined],
    [
      { plan: [scheduled('2026-11-20T12:00:00.000Z')] },
      { field: 'plan.0.scheduled', message: 'must be in the future' },
    ],
    [
      { plan: [scheduled('2027-01-01T00:00:00Z'), scheduled('2027-01-01T00:00:00Z')] },
      { field: 'plan.1.scheduled', message: 'must be later than the entry before it' },
    ],
    [
      { plan: [scheduled('2027-01-01T00:00:00Z'), repeated('2026-12-31T00:00:00Z')] },
      { field: 'plan.1.repeat.first', message: 'must be later than the entry before it' },
    ],
    [{ plan: [scheduled('2027-01-01T00:00:00Z'), repeated('2027-01-01T00:00:00-01:00')] }, undefined],
    [{ plan: [repeated(undefined, 2), repeated('2020-01-01T00:00:00Z')] }, undefined],
    [
      { plan: [repeated(), repeated('2030-01-01T00:00:00Z')] },
      { field: 'plan.0.repeat.count', message: 'is required before another entry' },
    ],
    [
      { plan: [{ ...repeated(), amount: { ...eur, currency: 'XXX' } }] },
      { field: 'plan.0.amount.currency', message: 'must be a currency that can be charged' },
    ],
    [{ text: 'order 41111111111111112222' }, { field: 'text', message: 'must not contain a card number' }],
  ])('finds in %j the problem %j', (changes, problem) => {
    expect(orderProblem(order(changes), now)).toEqual(problem)
  })
})

describe('orderDigest', () => {
  it('covers what the customer agreed to, and nothing else', () => {
    const digest = (changes: object = {}, jti = 'jti') => orderDigest(order(changes), jti).toString('hex')
    const same = [
      digest(),
      digest({ text: 'ab', custom: 1, hints: ['h'], reference: 'r' }),
      digest({ integration: { key: 'abc' } }),
    ]
    expect(new Set(same).size).toBe(1)
    const others = [
      digest({ integration: { key: 'ABD' } }),
      digest({ amount: { ...eur, value: 901 } }),
      digest({ amount: undefined, unplanned: { merchant: true } }),
      digest({ card: { number: 'n', code: 'c', expiry: { month: 2, year: 2030 } } }),
      digest({ unplanned: { merchant: true } }),
      digest({ plan: [repeated()] }),
      digest({ redirect: 'https://shop.example/done' }),
      digest({}, 'other'),
    ]
    expect(new Set([same[0], ...others]).size).toBe(9)
  })
})

it('moneyOf: rounds finer amounts up, and is 0 to verify a card only', () => {
  expect(moneyOf({ amount: { currency: 'EUR', exponent: 3, value: 1_851 } }, 'DKK')).toEqual({
    currency: 'EUR',
    amount: 186,
  })
  expect(moneyOf({ amount: undefined }, 'DKK')).toEqual({ currency: 'DKK', amount: 0 })
})

it.each([
  ['Crème brûlée', 'Creme brulee'],
  ['Café Ærø 12', 'Cafe Aero 12'],
  ['Ærø ☕ x', 'Aero . x'],
  ['Юрий ЕООД; 5 € = x', 'Yuriy EOOD; 5 E = x'],
  ['Θάλασσα ΧΙΟΥ', 'Thalassa CHIOY'],
  ['珈琲', undefined],
  ['  ', undefined],
  ['1234567890123456789012345', '1234567890123456789012'],
  ['\u0301\u0301', undefined],
  ['a\u0301', undefined],
  ['é'.repeat(30), 'e'.repeat(22)],
])('shortens the text %j to the descriptor %j', (text, descriptor) => {
  expect(toDescriptor(text)).toBe(descriptor)
})
