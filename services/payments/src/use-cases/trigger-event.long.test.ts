import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  createTestApp,
  createTestMerchant,
  operatorDeps,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../test/payments-app.ts'
import type { EventType } from '../webhooks/event.ts'
import { isTriggered, TRIGGERED_TYPES, type TriggeredType, triggerEvent } from './trigger-event.ts'

let payments: TestPayments
let app: TestApp
let liveId: string
let lonelyId: string
beforeAll(async () => {
  payments = await startPayments()
  app = await createTestApp(payments)
  lonelyId = (await createTestMerchant(payments, app, { test: true })).id
  await payments.database.db.deleteFrom('merchant_apps').where('merchant_id', '=', lonelyId).execute()
  liveId = (await createTestMerchant(payments, app)).id
})
afterAll(() => payments.close())

/** Creates a test merchant. It can be paid out until a dispute takes its money. */
async function createMerchant(): Promise<string> {
  const bank = { iban: 'DK5000400440116243' }
  return (await createTestMerchant(payments, app, { test: true, bank })).id
}

const trigger = (type: TriggeredType, id?: string) => triggerEvent(operatorDeps(payments), { type, merchantId: id })

/** Returns the events of a merchant. */
const eventsOf = (id: string) =>
  payments.database.db.selectFrom('events').select(['id', 'type', 'object_id']).where('merchant_id', '=', id).execute()

/** The events after each trigger, including those of the steps before it. */
const LEFT: Readonly<Record<TriggeredType, readonly EventType[]>> = {
  'transaction.created': ['transaction.created'],
  'transaction.failed': ['transaction.failed'],
  'transaction.captured': ['transaction.captured', 'transaction.created'],
  'transaction.refunded': ['transaction.captured', 'transaction.created', 'transaction.refunded'],
  'transaction.voided': ['transaction.created', 'transaction.voided'],
  'dispute.opened': ['dispute.opened', 'transaction.captured', 'transaction.created'],
  'dispute.won': ['dispute.opened', 'dispute.won', 'transaction.captured', 'transaction.created'],
  'dispute.lost': ['dispute.lost', 'dispute.opened', 'transaction.captured', 'transaction.created'],
  'fraud.created': ['fraud.created', 'transaction.captured', 'transaction.created'],
  'payout.created': ['payout.created', 'payout.settled', 'transaction.captured', 'transaction.created'],
  'payout.settled': ['payout.created', 'payout.settled', 'transaction.captured', 'transaction.created'],
  'merchant.updated': ['merchant.updated', 'merchant.updated'],
  'app.added': ['app.added'],
  'app.revoked': ['app.added', 'app.revoked'],
}

describe('triggerEvent', () => {
  it.each(TRIGGERED_TYPES)('%s happens to the object that is named, after what must happen first', async (type) => {
    const merchantId = await createMerchant()
    const before = new Set((await eventsOf(merchantId)).map(({ id }) => id))
    const { objectId, ...rest } = await trigger(type, merchantId)
    expect(rest).toEqual({ merchantId })
    const left = (await eventsOf(merchantId)).filter(({ id }) => !before.has(id))
    expect(left.map((event) => event.type).sort()).toEqual(LEFT[type])
    expect(left.find((event) => event.type === type)?.object_id).toBe(objectId)
  })

  it('takes the newest test merchant unless one is named', async () => {
    const merchantId = await createMerchant()
    expect((await trigger('merchant.updated')).merchantId).toBe(merchantId)
  })

  it('gives a merchant its own name back', async () => {
    const merchantId = await createMerchant()
    const nameOf = async () =>
      (await payments.database.db.selectFrom('merchants').select('name').where('id', '=', merchantId).execute())[0]
    const before = await nameOf()
    await trigger('merchant.updated', merchantId)
    expect(await nameOf()).toEqual(before)
  })

  it.each([
    ['a merchant that does not exist', () => UNKNOWN_ID, (id: string) => `there is no merchant ${id}`],
    [
      'a live merchant',
      () => liveId,
      (id: string) => `merchant ${id} is live: events are triggered for test merchants`,
    ],
    ['a merchant without an app', () => lonelyId, (id: string) => `merchant ${id} has no app with a good key`],
  ])('refuses %s', async (_what, idOf, messageOf) => {
    await expect(trigger('transaction.created', idOf())).rejects.toHaveProperty('message', messageOf(idOf()))
  })
})

it('charges nothing for a payout of a merchant without an IBAN', async () => {
  const { id } = await createTestMerchant(payments, app, { test: true })
  const before = await eventsOf(id)
  await expect(trigger('payout.created', id)).rejects.toHaveProperty(
    'message',
    `merchant ${id} has no IBAN, so nothing is paid out to it: set one by payments merchants bank`,
  )
  expect(await eventsOf(id)).toEqual(before)
})

describe('isTriggered', () => {
  it.each([
    ['transaction.created', true],
    // Only the acquirer of a live merchant can cause this event.
    ['transaction.rejected', false],
    ['nothing.here', false],
    ['toString', false],
    ['', false],
  ])('answers %j with %s', (text, isOne) => {
    expect(isTriggered(text)).toBe(isOne)
  })
})
