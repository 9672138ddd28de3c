import { randomUUID } from 'node:crypto'
import { anyTime, anyUuid } from '@trestle/testing/any-text.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { lastAudit, operatorAudit } from '../../../../test/audit.ts'
import { refusals, statusAndBody } from '../../../../test/bodies.ts'
import {
  type DeliveryWorld,
  getDeliveries,
  openDeliveryWorld,
  retrySoon,
  type SentEvent,
  sendEvent,
  waitForStatuses,
} from '../../../../test/deliveries.ts'
import { actorOf, operatorHeaders, storedKey } from '../../../../test/operators.ts'
import { deliveryTask } from '../../../webhooks/delivery.ts'

let world: DeliveryWorld
beforeAll(async () => {
  world = await openDeliveryWorld()
})
afterAll(() => world.close())

const replay = (id: string, key: string = randomUUID()) =>
  world.payments.app.inject({
    method: 'POST',
    url: `/operator/deliveries/${id}/replay`,
    headers: { ...operatorHeaders('support'), 'idempotency-key': key },
  })
const eventsAt = (path: string) =>
  world.sink.requests.filter(({ url }) => url === path).map(({ body }) => JSON.parse(body).id)
const OBSOLETE = [409, { code: 'CONFLICT', message: 'The webhook of the delivery is deleted, or its event is too old' }]

/** Returns the answer to a replay. A replay adds a delivery of the event. */
const replayed = ({ merchantId, webhook }: SentEvent, eventId: string) => [
  201,
  {
    delivery: {
      ...{ id: anyUuid, merchantId, webhookId: webhook.id, eventId, type: 'merchant.updated', created: anyTime },
      ...{ status: 'waiting', attempts: 0 },
    },
  },
]

/** Sends an event that its webhook accepts. Returns the event and the id of its delivery. */
async function deliver(path: string): Promise<SentEvent & { readonly id: string }> {
  const sent = await sendEvent(world, path)
  const [delivery] = await waitForStatuses(world, sent, ['delivered'])
  return { ...sent, id: delivery?.id ?? '' }
}

describe('POST /operator/deliveries/:deliveryId/replay', () => {
  it('201: sends the event again by a delivery of its own, and records who did it', async () => {
    const sent = await deliver('/again')
    const answer = await replay(sent.id, 'again')
    const { delivery } = answer.json()
    const { merchantId, webhook } = sent
    const [eventId] = eventsAt('/again')
    expect(statusAndBody(answer)).toEqual(replayed(sent, eventId))
    const listed = await waitForStatuses(world, sent, ['delivered', 'delivered'])
    expect(listed.map(({ id }) => id)).toEqual([delivery.id, sent.id])
    expect(eventsAt('/again')).toEqual([eventId, eventId])
    const { id, email } = actorOf('support')
    const payload = {
      ...{ action: 'deliveries.replay', actor: { id, email }, key: 'desk-support', role: 'support' },
      ...{ address: '127.0.0.1', object: { kind: 'delivery', id: sent.id }, idempotencyKey: storedKey('again') },
      changes: { webhookId: webhook.id, eventId, delivery: delivery.id },
    }
    expect(await lastAudit(world.payments)).toEqual(operatorAudit('operator.deliveries.replay', payload, merchantId))
  })

  it('201: a double click sends the event once', async () => {
    const sent = await deliver('/double')
    const key = randomUUID()
    const answers = await Promise.all([1, 2, 3].map(() => replay(sent.id, key)))
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([201, 201, 201])
    expect(new Set(answers.map(({ body }) => body)).size).toBe(1)
    await waitForStatuses(world, sent, ['delivered', 'delivered'])
  })

  it('201: many replays at once delay no new event of the merchant', async () => {
    const sent = await deliver('/many')
    const held = Promise.withResolvers<object>()
    world.answers.set('/many', held.promise)
    await Promise.all(Array.from({ length: 30 }, () => replay(sent.id)))
    // Only this many deliveries of one merchant run at the same time.
    await expect.poll(() => eventsAt('/many').length).toBe(1 + (deliveryTask.groups?.groupJobsMax ?? 0))
    const renaming = { method: 'PUT', url: `/merchants/${sent.merchantId}`, payload: { name: 'Tea' } } as const
    await world.payments.app.inject({ ...renaming, headers: world.member.headers })
    await expect
      .poll(async () => (await getDeliveries(world, `?webhook=${sent.webhook.id}&limit=100`)).json().deliveries.length)
      .toBe(32)
    held.resolve({})
    await expect.poll(() => eventsAt('/many').length, { timeout: 60_000 }).toBe(32)
    const [first, ...others] = eventsAt('/many')
    expect(others.findIndex((id) => id !== first)).toBeLessThan(20)
  })

  it('201: a webhook that was disabled takes events again', async () => {
    world.answers.set('/disabled', { status: 500 })
    const sent = await sendEvent(world, '/disabled')
    await waitForStatuses(world, sent, ['retrying'])
    await retrySoon(world, sent, deliveryTask.retryLimit - 1)
    const [dead] = await waitForStatuses(world, sent, ['failed'])
    world.answers.delete('/disabled')
    const answer = await replay(dead?.id ?? '')
    expect(statusAndBody(answer)).toEqual(replayed(sent, eventsAt('/disabled')[0]))
    await waitForStatuses(world, sent, ['delivered', 'failed'])
    const { db } = world.payments.owner
    const webhooks = await db.selectFrom('webhooks').select('disabled').where('id', '=', sent.webhook.id).execute()
    expect(webhooks).toEqual([{ disabled: null }])
  })

  it('409: sends nothing where the webhook is deleted', async () => {
    const { id, merchantId, webhook } = await deliver('/deleted')
    const url = `/merchants/${merchantId}/webhooks/${webhook.id}`
    await world.payments.app.inject({ method: 'DELETE', url, headers: world.member.headers })
    expect([statusAndBody(await replay(id)), eventsAt('/deleted')]).toEqual([OBSOLETE, [expect.any(String)]])
  })

  it('409: sends nothing where the event is too old to be kept', async () => {
    const { id, merchantId } = await deliver('/old')
    await sql`DELETE FROM ${sql.table('events')} WHERE merchant_id = ${merchantId}`.execute(world.payments.owner.db)
    expect([statusAndBody(await replay(id)), eventsAt('/old')]).toEqual([OBSOLETE, [expect.any(String)]])
  })

  it.each([randomUUID(), 'x'])('404: refuses the id %s, which no delivery has', async (id) => {
    expect(statusAndBody(await replay(id))).toEqual(refusals.notFound)
  })
})
