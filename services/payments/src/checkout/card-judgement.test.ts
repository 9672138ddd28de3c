import { describe, expect, it } from 'vitest'
import type { SchemeVerdict } from '../cards/card-number.ts'
import { type JudgedCard, judgeCard, refusalDetails, schemeName } from './card-judgement.ts'

const VISA: SchemeVerdict = { verdict: 'supported', scheme: 'visa' }
const MASTERCARD: SchemeVerdict = { verdict: 'supported', scheme: 'mastercard' }
const AMEX: SchemeVerdict = { verdict: 'unsupported', scheme: 'amex' }
const UNKNOWN: SchemeVerdict = { verdict: 'unknown' }

const GOOD: JudgedCard = {
  number: '4111111111111111',
  scheme: VISA,
  expiry: { month: 8, year: 2066 },
  test: false,
  scenario: { scheme: 'supported' },
  now: new Date('2026-03-01T00:00:00.000Z'),
}
const WRONG_DIGIT = '4111111111111112'
const EXPIRED = { month: 2, year: 2026 }

describe('judgeCard', () => {
  it.each<[string, Partial<JudgedCard>, string | undefined]>([
    ['the last millisecond of its month', { now: new Date('2066-08-31T23:59:59.999Z') }, undefined],
    ['the first millisecond after its month', { now: new Date('2066-09-01T00:00:00.000Z') }, 'PAYMENT_CARD_EXPIRED'],
    ['a month that ended one millisecond ago', { expiry: EXPIRED }, 'PAYMENT_CARD_EXPIRED'],
    [
      'the last millisecond of a leap day',
      { expiry: { month: 2, year: 2028 }, now: new Date('2028-02-29T23:59:59.999Z') },
      undefined,
    ],
    ['an expired card of a test merchant', { test: true, expiry: EXPIRED }, 'PAYMENT_CARD_EXPIRED'],
    ['a wrong check digit', { number: WRONG_DIGIT }, 'PAYMENT_CARD_NUMBER_INVALID'],
    ['a wrong check digit of a test merchant', { number: WRONG_DIGIT, test: true }, undefined],
    ['an unsupported scheme', { scheme: AMEX }, 'PAYMENT_CARD_SCHEME_UNSUPPORTED'],
    ['an unknown scheme', { scheme: UNKNOWN }, 'PAYMENT_CARD_SCHEME_UNKNOWN'],
    [
      'a scheme that the scenario makes unsupported',
      { scenario: { scheme: 'unsupported' } },
      'PAYMENT_CARD_SCHEME_UNSUPPORTED',
    ],
    ['a scheme that the scenario makes unknown', { scenario: { scheme: 'unknown' } }, 'PAYMENT_CARD_SCHEME_UNKNOWN'],
    [
      'an unknown scheme that the scenario would make unsupported',
      { scheme: UNKNOWN, scenario: { scheme: 'unsupported' } },
      'PAYMENT_CARD_SCHEME_UNKNOWN',
    ],
    [
      'an unsupported scheme that the scenario would make unknown',
      { scheme: AMEX, scenario: { scheme: 'unknown' } },
      'PAYMENT_CARD_SCHEME_UNSUPPORTED',
    ],
    [
      'an unsupported scheme before a wrong check digit',
      { scheme: AMEX, number: WRONG_DIGIT, expiry: EXPIRED },
      'PAYMENT_CARD_SCHEME_UNSUPPORTED',
    ],
    ['a wrong check digit before the expiry', { number: WRONG_DIGIT, expiry: EXPIRED }, 'PAYMENT_CARD_NUMBER_INVALID'],
    ['a good card', {}, undefined],
    ['a good card of the other scheme', { scheme: MASTERCARD, number: '5555555555554444' }, undefined],
  ])('finds with %s the problem %s', (_, changes, problem) => {
    expect(judgeCard({ ...GOOD, ...changes })).toBe(problem)
  })
})

describe('schemeName', () => {
  it.each([
    ['nothing for an unknown scheme', UNKNOWN, null],
    ['an unsupported scheme', AMEX, 'amex'],
    ['a supported scheme', MASTERCARD, 'mastercard'],
  ])('names %s', (_, scheme, name) => {
    expect(schemeName(scheme)).toBe(name)
  })
})

describe('refusalDetails', () => {
  it.each([
    ['PAYMENT_CARD_SCHEME_UNKNOWN', UNKNOWN, { supported: ['visa', 'mastercard'] }],
    ['PAYMENT_CARD_SCHEME_UNKNOWN', VISA, { supported: ['visa', 'mastercard'] }],
    ['PAYMENT_CARD_SCHEME_UNSUPPORTED', AMEX, { scheme: 'amex', supported: ['visa', 'mastercard'] }],
    ['PAYMENT_CARD_SCHEME_UNSUPPORTED', UNKNOWN, { scheme: null, supported: ['visa', 'mastercard'] }],
    ['PAYMENT_CARD_EXPIRED', AMEX, {}],
    ['PAYMENT_CARD_NUMBER_INVALID', VISA, {}],
  ])('adds to %s with the scheme %j: %j', (statusCode, scheme, details) => {
    expect(refusalDetails(statusCode, scheme)).toEqual(details)
  })
})
