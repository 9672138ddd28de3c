import { expect, it } from 'vitest'
import { translatorOf } from '../pages/locale.ts'
import { statusCodeOf } from '../transactions/processing-error.ts'
import table from '../transactions/processing-errors.json' with { type: 'json' }
import { refusalOf, refusalTable } from './refusal.ts'

it.each([
  ['PAYMENT_CARD_NUMBER_INVALID', { text: 'refusedNumber', field: 'number' }],
  ['PAYMENT_CARD_SCHEME_UNSUPPORTED', { text: 'refusedNumber', field: 'number' }],
  ['PAYMENT_CARD_SECURITY_CODE_INVALID', { text: 'refusedCode', field: 'code' }],
  ['PAYMENT_CARD_EXPIRED', { text: 'refusedExpiry', field: 'expiry' }],
  ['PAYMENT_INSUFFICIENT_FUNDS', { text: 'refusedIssuer' }],
  ['PAYMENT_CARD_LOST', { text: 'refusedIssuer' }],
  ['PAYMENT_METHOD_ERROR', { text: 'refusedNetwork' }],
  ['TDSECURE_FAILED', { text: 'refusedTds' }],
  ['TOKEN_INVALID', { text: 'tooLong' }],
  ['PAYMENT_INTEGRATION_DISABLED', { text: 'refusedOther' }],
  ['REQUEST_INVALID', { text: 'refusedOther' }],
  ['constructor', { text: 'refusedOther' }],
])('chooses the text and the field for %s', (statusCode, refusal) => {
  expect(refusalOf(statusCode)).toEqual(refusal)
})

it('tells the customer nothing about a fault of the merchant', () => {
  for (const { code } of table.errors.filter(({ client }) => !client)) {
    expect(refusalOf(statusCodeOf(code)).text, String(code)).toBe('refusedOther')
  }
})

it('gives the script of the page the same texts', () => {
  const table = refusalTable(translatorOf('da'))
  expect(table['']).toEqual({ text: translatorOf('da')('refusedOther') })
  expect(table.PAYMENT_CARD_EXPIRED).toEqual({ text: translatorOf('da')('refusedExpiry'), field: 'expiry' })
  expect(table.REQUEST_INVALID).toBeUndefined()
})
