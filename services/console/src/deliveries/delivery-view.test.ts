import { describe, expect, it } from 'vitest'
import { errorText, transactionIdOf } from './delivery-view.ts'

describe('errorText', () => {
  it.each([
    ['ECONNREFUSED', 'The connection was refused: nothing listens at the address (ECONNREFUSED)'],
    ['ETIMEOUT', 'The name servers of the address did not answer in time (ETIMEOUT)'],
    ['EUNHEARD', 'EUNHEARD'],
    ['The webhook answered with status 500', 'The webhook answered with status 500'],
  ])('says what the code %s means, and keeps what it does not know', (error, expected) => {
    expect(errorText(error)).toBe(expected)
  })
})

describe('transactionIdOf', () => {
  it.each([
    ['of a transaction', { data: { transaction: { id: 't1' } } }, 't1'],
    ['of a dispute', { data: { dispute: { id: 'd1', transactionId: 't1' } } }, 't1'],
    ['of a fraud alert', { data: { fraud: { id: 'f1', transactionId: 't1' } } }, 't1'],
    ['of a merchant', { data: { merchant: { id: 'm1' } } }, undefined],
    ['that is no longer kept', undefined, undefined],
  ])(
    'names the payment that an event is about, and none where there is none: an event %s',
    (_case, event, expected) => {
      expect(transactionIdOf({ event })).toBe(expected)
    },
  )
})
