import { describe, expect, it } from 'vitest'
import { completeScenario } from '../cards/scenario.ts'
import { processingErrorOf } from '../transactions/processing-error.ts'
import { cardRefusal } from './simulator.ts'
import { scenarioOfNumber, scenarioOfPayment, TestObject } from './test-object.ts'

const plain = '1000000000000000'

describe('TestObject', () => {
  it.each<[object, object]>([
    [{}, {}],
    [{ card: {}, tds: {} }, {}],
    [{ card: { scheme: 'supported' } }, { scheme: 'supported' }],
    [
      { card: { scheme: 'unknown', code: 'invalid', status: 'lost' }, fingerprint: 'timeout' },
      { scheme: 'unknown', code: 'invalid', status: 'lost', fingerprint: 'timeout' },
    ],
    [
      { card: { limit: { currency: 'EUR', exponent: 3, value: 1_001 }, balance: 'infinite' } },
      { limit: { currency: 'EUR', amount: 101 }, balance: null },
    ],
    [
      { tds: { fingerprint: 'unavailable', challenge: false, status: 'attempted' } },
      { tdsFingerprint: 'unavailable', tdsChallenge: false, tdsStatus: 'attempted' },
    ],
  ])('reads %j as the scenario %j', (object, changes) => {
    expect(scenarioOfPayment(plain, TestObject.parse(object))).toEqual(changes)
  })

  it.each([
    { unknown: 1 },
    { card: { unknown: 1 } },
    { tds: { unknown: 1 } },
    { card: { scheme: 'visa' } },
    { card: { status: 'stolen' } },
    { card: { limit: 5 } },
    { card: { limit: 'none' } },
    { card: { limit: { currency: 'EUR', exponent: 2 } } },
    { card: { limit: { currency: 'XXX', exponent: 2, value: 1 } } },
    { card: { balance: { currency: 'EUR', exponent: 11, value: 1 } } },
    { card: { balance: { currency: 'EUR', exponent: 2, value: -1 } } },
    { card: { balance: { currency: 'EUR', exponent: 2, value: 1, unknown: 1 } } },
    { fingerprint: 'failure' },
    { tds: { challenge: 'yes' } },
  ])('refuses %j', (object) => {
    expect(TestObject.safeParse(object).success).toBe(false)
  })

  it('is used instead of the card number when it has any field', () => {
    expect(scenarioOfPayment('1000000000000007', {})).toEqual({ refusal: 'PAYMENT_INSUFFICIENT_FUNDS' })
    expect(scenarioOfPayment('1000000000000007', { card: { balance: 'infinite' } })).toEqual({ balance: null })
  })
})

describe('scenarioOfNumber', () => {
  it.each([
    [plain, {}],
    ['2000000000000000', {}],
    ['4100000000000000', {}],
    ['1000000000010000', { tdsChallenge: false }],
    ['1000000000020000', { disputed: true }],
    ['1000000000030000', { fraud: true }],
    ['1000000000040000', { polls: true }],
    ['1000000000050000', { delaySeconds: 3 }],
    ['1000000000000005', {}],
    ['1000000000090003', {}],
    ['1000000000090029', {}],
    ['10000000000000070', {}],
  ])('reads the card number %s as the scenario %j', (number, changes) => {
    expect(scenarioOfNumber(number)).toEqual(changes)
  })

  it.each([3, 4, 6, 7, 8, 9, 10, 11, 12, 25, 29, 30, 31])(
    'refuses every payment by a number that ends in 0000 00NN: processing error %i',
    (code) => {
      const scenario = completeScenario(scenarioOfNumber(`10000000000000${String(code).padStart(2, '0')}`))
      expect(processingErrorOf(cardRefusal(scenario, 'customer') ?? '')).toBe(code)
      expect(processingErrorOf(cardRefusal(scenario, 'merchant') ?? '')).toBe(code)
    },
  )

  it.each([6, 7, 8, 9, 10, 11, 12, 25])(
    'refuses only later payments by a number that ends in 0009 00NN: processing error %i',
    (code) => {
      const scenario = completeScenario(scenarioOfNumber(`10000000000900${String(code).padStart(2, '0')}`))
      expect(cardRefusal(scenario, 'customer')).toBeUndefined()
      expect(processingErrorOf(cardRefusal(scenario, 'merchant') ?? '')).toBe(code)
    },
  )
})
