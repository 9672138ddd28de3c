import { anyId, anyTime, anyUuid } from '@trestle/testing/any-text.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectBody, refusals, refusedField, statusAndBody } from '../../../test/bodies.ts'
import {
  type DeliveryWorld,
  getDeliveries,
  openDeliveryWorld,
  retrySoon,
  type SentEvent,
  sendEvent,
  waitForStatuses,
} from '../../../test/deliveries.ts'
import { deliveryTask } from '../../webhooks/delivery.ts'

let world: DeliveryWorld
/** Events, oldest first: accepted by the webhook, refused for now, and with a dead-letter job. */
let taken: SentEvent
let refused: SentEvent
let failed: SentEvent
const ANSWER = `\0 no: 4111 1111 1111 1111 <b>${'å'.repeat(4_000)}`
beforeAll(async () => {
  world = await openDeliveryWorld()
  world.answers.set('/taken', { status: 202, body: 'thanks' })
  world.answers.set('/refused', { status: 500, body: ANSWER })
  world.answers.set('/failed', { status: 404, body: '' })
  taken = await sendEvent(world, '/taken')
  await waitForStatuses(world, taken, ['delivered'])
  refused = await sendEvent(world, '/refused')
  await waitForStatuses(world, refused, ['retrying'])
  failed = await sendEvent(world, '/failed')
  await waitForStatuses(world, failed, ['retrying'])
})
afterAll(() => world.close())

const get = (rest: string) => getDeliveries(world, rest)
const webhooksOf = async (query: string) =>
  expectBody(200, await get(query)).deliveries.map(({ webhookId }: { webhookId: string }) => webhookId)
const idOf = async ({ webhook }: SentEvent): Promise<string> =>
  expectBody(200, await get(`?webhook=${webhook.id}`)).deliveries[0].id

describe('GET /operator/deliveries', () => {
  it('200: lists the deliveries of all merchants, newest first', async () => {
    const shown = ({ merchantId, webhook }: SentEvent, rest: object) => ({
      ...{ id: anyUuid, merchantId, webhookId: webhook.id, eventId: anyId, type: 'merchant.updated', created: anyTime },
      ...rest,
    })
    expect(statusAndBody(await get(''))).toEqual([
      200,
      {
        deliveries: [
          shown(failed, { status: 'retrying', attempts: 1, error: 'answered 404' }),
          shown(refused, { status: 'retrying', attempts: 1, error: 'answered 500' }),
          shown(taken, { status: 'delivered', attempts: 1 }),
        ],
      },
    ])
  })

  it.each([
    ['merchant', () => `?merchant=${taken.merchantId.toUpperCase()}`, () => [taken]],
    ['webhook', () => `?webhook=${refused.webhook.id}`, () => [refused]],
    ['state', () => '?status=delivered', () => [taken]],
    ['state and merchant', () => `?status=delivered&merchant=${refused.merchantId}`, () => []],
    ['state, oldest first', () => '?status=retrying&order=asc', () => [refused, failed]],
    ['state that none has', () => '?status=cancelled', () => []],
  ])('200: finds the deliveries of one %s', async (_by, query, found) => {
    expect(await webhooksOf(query())).toEqual(found().map(({ webhook }) => webhook.id))
  })

  it.each([
    ['newest', 'desc', () => [failed, refused, taken]],
    ['oldest', 'asc', () => [taken, refused, failed]],
  ])('200: Link leads through all of them, the %s first', async (_first, order, all) => {
    const seen: string[] = []
    let query: string | undefined = `limit=1&order=${order}`
    for (let pages = 0; query !== undefined && pages < 9; pages++) {
      const answer = await get(`?${query}`)
      seen.push(...expectBody(200, answer).deliveries.map(({ webhookId }: { webhookId: string }) => webhookId))
      query = /\?(.+)>; rel="next"$/.exec(String(answer.headers.link))?.[1]
    }
    expect(seen).toEqual(all().map(({ webhook }) => webhook.id))
  })

  it('400: refuses an unknown state', async () => {
    expect(statusAndBody(await get('?status=lost'))).toEqual(refusedField('status', 'is not valid', 'FORMAT'))
  })
})

describe('GET /operator/deliveries/:deliveryId', () => {
  it('200: shows what was sent, to which webhook, and the answer, without a secret', async () => {
    const answer = await get(`/${await idOf(taken)}`)
    const [request] = world.sink.requests.filter(({ url }) => url === '/taken')
    const { merchantId, webhook } = taken
    expect(statusAndBody(answer)).toEqual([
      200,
      {
        delivery: {
          ...{ id: await idOf(taken), merchantId, webhookId: webhook.id, eventId: anyId, type: 'merchant.updated' },
          ...{ status: 'delivered', attempts: 1, created: anyTime },
        },
        webhook: { id: webhook.id, url: `${world.sink.url}/taken`, events: ['merchant.updated'], created: anyTime },
        event: JSON.parse(request?.body ?? ''),
        attempts: [{ at: anyTime, status: 202, answer: 'thanks' }],
      },
    ])
    expect(answer.body).not.toContain(webhook.secret)
  })

  it('200: shows each attempt with the first 4 KiB of its answer, without card numbers and U+0000', async () => {
    const id = await idOf(refused)
    await retrySoon(world, refused)
    await expect.poll(async () => (await get(`/${id}`)).json().attempts).toHaveLength(2)
    const { attempts } = expectBody(200, await get(`/${id}`))
    // `\ufffd no: … <b>` has 31 bytes, and `å` has two bytes. The stored answer is limited in bytes.
    const answer = `\ufffd no: 9999 9999 9999 9999 <b>${'å'.repeat(2_032)}`
    expect(attempts).toEqual([1, 2].map(() => ({ at: anyTime, status: 500, error: 'answered 500', answer })))
  })

  it('200: keeps its id and its attempts when it has failed, and after its webhook is deleted', async () => {
    const id = await idOf(failed)
    await retrySoon(world, failed, deliveryTask.retryLimit - 1)
    const [dead] = await waitForStatuses(world, failed, ['failed'])
    const { payments, member } = world
    const { merchantId, webhook } = failed
    const url = `/merchants/${merchantId}/webhooks/${webhook.id}`
    await payments.app.inject({ method: 'DELETE', url, headers: member.headers })
    const attempt = { at: anyTime, status: 404, error: 'answered 404', answer: '' }
    expect([dead?.id, statusAndBody(await get(`/${id}`))]).toEqual([
      id,
      [200, { delivery: { ...dead, attempts: 13 }, event: expect.any(Object), attempts: [attempt, attempt] }],
    ])
    await payments.deps.jobs.retryDeadLetterJobs(deliveryTask)
    const [cancelled] = await waitForStatuses(world, failed, ['cancelled'])
    expect(cancelled?.id).toBe(id)
  })

  it.each(['00000000-0000-0000-0000-000000000000', 'x', 'deadbeef'])(
    '404: refuses the id %s, which no delivery has',
    async (id) => {
      expect(statusAndBody(await get(`/${id}`))).toEqual(refusals.notFound)
    },
  )
})
