import { anyId } from '@trestle/testing/any-text.ts'
import { distributed } from '@trestle/testing/temporary-database.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callerOf, credentialsOf } from '../../test/caller.ts'
import {
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../test/payments-app.ts'
import { HIGHEST, LOWEST } from '../pagination/page-query.ts'
import type { DeliveryJob } from './delivery.ts'
import { takeRows } from './outbox.ts'
import type { Webhook } from './webhook.ts'
import {
  type CreateWebhookCall,
  callCreateWebhook,
  callDeleteWebhook,
  callDisableWebhook,
  callReplayWebhook,
  callRotateWebhookSecret,
  findDelivery,
  listWebhooks,
} from './webhook-repository.ts'

const TARGET = 'https://shop.example/hooks'
const [FIRST, SECOND] = [Buffer.from('first secret'), Buffer.from('second secret')]
const DAY_MS = 86_400_000

let payments: TestPayments
let member: TestApp
let stranger: TestApp
beforeAll(async () => {
  payments = await startPayments()
  member = await createTestApp(payments)
  stranger = await createTestApp(payments)
})
afterAll(() => payments.close())

const merchant = async (test = true) => (await createTestMerchant(payments, member, { test })).id

const create = (merchantId: string, differences: Partial<CreateWebhookCall> = {}) =>
  callCreateWebhook(payments.deps.pools, {
    caller: callerOf(member),
    merchantId,
    webhook: { url: TARGET, events: [] },
    encryptedSecret: FIRST,
    allowHttp: false,
    ...differences,
  })
async function createdWebhook(merchantId: string): Promise<Webhook> {
  const { outcome, verdict } = await create(merchantId)
  if (outcome?.verdict !== 'created') throw new Error(`no webhook was made: ${verdict}`)
  return outcome.webhook
}
const list = async (merchantId: string) =>
  (
    await listWebhooks(payments.deps.pools, {
      ...credentialsOf(member),
      ...{ merchantId, limit: 10, above: LOWEST, below: HIGHEST, order: 'newest-first', test: undefined },
    })
  ).webhooks
const done = () => ({ verdict: 'done', identityId: member.id })
/** Changes a merchant and returns the id of the resulting event. */
async function addEvent(merchantId: string, name = 'Coffee'): Promise<string> {
  const { headers } = member
  await payments.app.inject({ method: 'PUT', url: `/merchants/${merchantId}`, headers, payload: { name } })
  const { id } = await payments.database.db
    .selectFrom('events')
    .select('id')
    .where('merchant_id', '=', merchantId)
    .orderBy('id', 'desc')
    .executeTakeFirstOrThrow()
  return id
}

describe('callCreateWebhook', () => {
  it('makes a webhook with one secret, which is listed', async () => {
    const merchantId = await merchant()
    const webhook = {
      id: anyId,
      merchantId,
      url: TARGET,
      events: [],
      secrets: { current: FIRST, previous: null, previousUntil: null },
      disabled: null,
      created: expect.any(Date),
    }
    expect(await create(merchantId)).toEqual({ ...done(), outcome: { verdict: 'created', webhook } })
    expect(await list(merchantId)).toEqual([webhook])
  })

  it('judges access before anything else, also without a webhook', async () => {
    const merchantId = await merchant()
    for (const webhook of [null, { url: 'http://x', events: [] }]) {
      expect(await create(merchantId, { caller: callerOf(stranger), webhook })).toEqual({
        verdict: 'forbidden',
        identityId: stranger.id,
        outcome: undefined,
      })
    }
    expect(await create(merchantId, { webhook: null })).toEqual({ ...done(), outcome: undefined })
    expect(await list(merchantId)).toEqual([])
  })

  it.each([
    ['a test merchant, where it is allowed', true, true, 'created'],
    ['a test merchant, where it is not allowed', true, false, 'not-https'],
    ['a live merchant', false, true, 'not-https'],
  ])('decides on a URL with http: for %s', async (_case, test, allowHttp, expected) => {
    const merchantId = await merchant(test)
    const odd = { url: 'HTTP://shop.example', events: [] }
    if (!test) expect((await create(merchantId, { webhook: odd, allowHttp })).outcome?.verdict).toBe('not-https')
    const webhook = { url: 'http://shop.example', events: [] }
    expect((await create(merchantId, { webhook, allowHttp })).outcome?.verdict).toBe(expected)
    expect(await list(merchantId)).toHaveLength(expected === 'created' ? 1 : 0)
  })
})

describe('callRotateWebhookSecret', () => {
  const rotate = (merchantId: string, webhookId: string, encryptedSecret: Buffer | null = SECOND) =>
    callRotateWebhookSecret(payments.deps.pools, { caller: callerOf(member), merchantId, webhookId, encryptedSecret })

  it('lets the previous secret sign for one more day', async () => {
    const webhook = await createdWebhook(await merchant())
    const { webhook: rotated, ...access } = await rotate(webhook.merchantId, webhook.id)
    const previousUntil = rotated?.secrets.previousUntil
    expect({ ...access, rotated }).toEqual({
      ...done(),
      rotated: { ...webhook, secrets: { current: SECOND, previous: FIRST, previousUntil } },
    })
    expect(Math.abs((previousUntil?.getTime() ?? 0) - Date.now() - DAY_MS)).toBeLessThan(60_000)
  })

  it('finds no webhook of another merchant', async () => {
    const webhook = await createdWebhook(await merchant())
    expect(await rotate(await merchant(), webhook.id)).toEqual({
      verdict: 'not-found',
      identityId: member.id,
      webhook: undefined,
    })
    expect(await list(webhook.merchantId)).toEqual([webhook])
  })
})

describe('a delivery', () => {
  it('is found with its event and secrets, until the webhook is disabled', async () => {
    const webhook = await createdWebhook(await merchant())
    const { merchantId, id: webhookId } = webhook
    const job = { merchantId, webhookId, eventId: await addEvent(merchantId) }
    const found = await findDelivery(payments.deps.pools, job)
    expect(typeof found === 'object' && [found.url, found.secrets, found.event.id]).toEqual([
      TARGET,
      webhook.secrets,
      job.eventId,
    ])
    expect(await findDelivery(payments.deps.pools, { ...job, eventId: webhookId })).toBe('event-expired')
    await callDisableWebhook(payments.deps.pools, job)
    expect(await findDelivery(payments.deps.pools, job)).toBe('webhook-disabled')
    expect(await list(merchantId)).toEqual([{ ...webhook, disabled: expect.any(Date) }])
  })

  it('is gone with its webhook, which is deleted once', async () => {
    const { merchantId, id: webhookId } = await createdWebhook(await merchant())
    const eventId = await addEvent(merchantId)
    const remove = () => callDeleteWebhook(payments.deps.pools, { caller: callerOf(member), merchantId, webhookId })
    expect([await remove(), await remove()]).toEqual([done(), { verdict: 'not-found', identityId: member.id }])
    expect(await findDelivery(payments.deps.pools, { merchantId, webhookId, eventId })).toBe('webhook-deleted')
  })
})

describe('callReplayWebhook', () => {
  it('counts the events after an id, and tells none from an unknown webhook', async () => {
    const { merchantId, id: webhookId } = await createdWebhook(await merchant())
    const replay = (after: string, id = webhookId) =>
      callReplayWebhook(payments.deps.pools, { merchantId, webhookId: id, after })
    const [first, second] = [await addEvent(merchantId, 'Coffee'), await addEvent(merchantId, 'Tea')]
    expect([await replay(LOWEST), await replay(first), await replay(second)]).toEqual([2, 1, 0])
    expect(await replay(LOWEST, UNKNOWN_ID)).toBeUndefined()
  })

  it.skipIf(distributed)(
    'sends events to each webhook to which they are replayed before the outbox is emptied',
    async () => {
      const { merchantId, id: first } = await createdWebhook(await merchant())
      const second = (await createdWebhook(merchantId)).id
      const eventId = await addEvent(merchantId)
      const { db } = payments.service
      const take = async () => {
        const { entries } = await db.transaction().execute((trx) => takeRows(trx, 1_000, []))
        return entries.map(({ data }) => data as DeliveryJob).filter((job) => job.merchantId === merchantId)
      }
      await take()
      await createdWebhook(merchantId)
      for (const webhookId of [first, second, first]) {
        await callReplayWebhook(payments.deps.pools, { merchantId, webhookId, after: LOWEST })
      }
      const sent = (await take()).map((job) => [job.eventId, job.webhookId])
      expect(sent.sort()).toEqual(
        [
          [eventId, first],
          [eventId, second],
        ].sort(),
      )
    },
  )
})
