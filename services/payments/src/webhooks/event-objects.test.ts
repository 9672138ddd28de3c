import { describe, expect, it } from 'vitest'
import { type DisputeJson, type PayoutJson, viewObject } from './event-objects.ts'

const AT = '2026-03-01T12:00:00.000Z'
/** In JSON, PostgreSQL writes times with microseconds and an offset. */
const created = '2026-03-01T12:00:00.000000+00:00'

const payout = (status: PayoutJson['status']) => ({
  id: 'p',
  merchant_id: 'm',
  amount: 300,
  currency: 'EUR',
  line_id: 'l',
  iban: 'DK50',
  status,
  test: true,
  created,
})
const shownPayout = (status: PayoutJson['status']) => ({
  id: 'p',
  merchantId: 'm',
  created: AT,
  amount: 300,
  currency: 'EUR',
  lineId: 'l',
  bank: { iban: 'DK50' },
  status,
  test: true,
})

const dispute = (status: DisputeJson['status']) => ({
  id: 'd',
  merchant_id: 'm',
  transaction_id: 't',
  amount: 100,
  excess: 0,
  currency: 'EUR',
  reason_code: 1,
  reason_title: 'Fraud',
  due: created,
  status,
  resolved: created,
  created,
})
const shownDispute = (differences: object) => ({
  id: 'd',
  merchantId: 'm',
  transactionId: 't',
  created: AT,
  amount: 100,
  currency: 'EUR',
  reason: { code: 1, title: 'Fraud' },
  due: AT,
  ...differences,
})

describe('viewObject', () => {
  it.each([
    ['dispute.opened', dispute('won'), { dispute: shownDispute({ status: 'open' }) }],
    ['dispute.won', dispute('won'), { dispute: shownDispute({ status: 'won', resolved: AT }) }],
    ['payout.created', payout('settled'), { payout: shownPayout('created') }],
    ['payout.settled', payout('settled'), { payout: shownPayout('settled') }],
    ['app.added', { id: 'a', name: null, created, hidden: false }, { app: { id: 'a', created: AT } }],
  ] as const)('shows the object of %s as it was then, not as its row is by now', (type, row, data) => {
    expect(viewObject(type, row)).toEqual(data)
  })

  it('throws for an object that is gone', () => {
    expect(() => viewObject('app.added', null)).toThrow('the object of an event is gone')
  })
})
