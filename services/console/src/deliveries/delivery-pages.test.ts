import { describe, expect, it } from 'vitest'
import { isStale } from '../pages/asked-change.ts'
import {
  DELIVERY_STATUSES,
  deliveryChanges,
  deliveryPage,
  errorText,
  type ShownDelivery,
  transactionIdOf,
} from './delivery-pages.ts'

const shownAs = (status: ShownDelivery['delivery']['status']): ShownDelivery => ({
  delivery: {
    id: 'd1',
    merchantId: 'm1',
    webhookId: 'w1',
    eventId: 'e1',
    type: 'transaction.refunded',
    status,
    attempts: 1,
    created: '2026-03-01T12:00:00.000Z',
  },
  webhook: { url: 'https://shop.example/hooks' },
  event: {},
  attempts: [],
})

describe('the question before an event is sent again', () => {
  const sentencesOf = (status: (typeof DELIVERY_STATUSES)[number]) =>
    deliveryChanges.changes[0]?.consequences(shownAs(status), {}) ?? []

  it.each(DELIVERY_STATUSES)('warns of a second copy where the delivery itself goes on: %s', (status) => {
    expect(sentencesOf(status)).toEqual([
      'The same event goes to https://shop.example/hooks once more, as a delivery of its own.',
      ...(['waiting', 'sending', 'retrying'].includes(status)
        ? ['This delivery continues too, so the event may arrive twice: a receiver recognizes it by its id.']
        : []),
      'If the webhook was disabled, it is enabled again.',
    ])
  })
})

it('is sent again to no other address than the question has named', () => {
  const [replay] = deliveryChanges.changes
  const given = { fact_url: 'https://shop.example/hooks' }
  const staleAt = (url: string) => replay && isStale(replay, { ...shownAs('failed'), webhook: { url } }, given)
  expect([staleAt('https://shop.example/hooks'), staleAt('https://elsewhere.example/')]).toEqual([false, true])
})

describe('the page of a delivery', () => {
  it('asks for itself again while the delivery has no outcome, and no longer', () => {
    const polling = DELIVERY_STATUSES.filter((status) => {
      const { main } = deliveryPage(shownAs(status), { role: 'admin', userId: 'ada', now: new Date('2026-03-01') })
      return main.html.includes('hx-get="/deliveries/d1" hx-trigger="every 2s"')
    })
    expect(polling).toEqual(['waiting', 'sending'])
  })
})

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
