import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { advanceOrder, type PaymentsClient, payOrder } from '../../drills/canaries/orders.ts'
import type { Memory } from '../memory.ts'
import type { Ask } from '../target.ts'
import type { OperatorHeaders } from './operators.ts'

/** A card whose bank asks the customer. No log and no answer may contain its number. */
export const PAN = '1000000000000000'
export const CODE = '271'
export const INVITED = 'ada@shop.example'
const VERSION = { 'accept-version': '1' }

const NewApp = z.object({ app: z.object({ id: z.string(), key: z.string() }) })
const NewMerchant = z.object({ merchant: z.object({ id: z.string(), key: z.string() }) })
const NewWebhook = z.object({ webhook: z.object({ id: z.string() }) })
const User = z.object({ id: z.string() })
const NewToken = z.object({ token: z.string() })

const FRICTIONLESS = { tds: { challenge: false } }
const CARD = [
  ['pcn', PAN],
  ['pcsc', CODE],
] as const
export const SHOP = {
  currency: 'EUR',
  test: true,
  email: 'owner@shop.example',
  website: 'https://shop.example',
  descriptor: 'FUZZ SHOP',
  company: { country: 'DK' },
  bank: { iban: 'DK5000400440116243' },
}

export function basic(key: string | undefined): { readonly authorization: string } {
  return { authorization: `Basic ${Buffer.from(`:${key}`).toString('base64')}` }
}

/** Opens the registration of apps, which an operator's request may have closed. */
export async function openRegistration(ask: Ask, operator: OperatorHeaders): Promise<void> {
  const headers = { ...operator, 'idempotency-key': randomUUID() }
  await ask({ actor: 0, method: 'PUT', target: '/operator/registration', body: { isClosed: false }, headers })
}

/** An actor's merchant: the key of its app, its public key, and ids. */
interface ActorMerchant {
  readonly key: string
  readonly publicKey: string
  readonly shop: Readonly<Record<'merchantId' | 'userId' | 'appId' | 'webhookId', string>>
}

/** Creates a new app with a merchant, because the last app may have lost its keys or its merchant. */
export async function createMerchant(ask: Ask, actor: number): Promise<ActorMerchant> {
  const createApp = async (body: object) =>
    NewApp.parse(await ask({ actor, method: 'POST', target: '/apps', body })).app
  const [other, app] = [await createApp({}), await createApp({ name: `Actor ${actor}` })]
  const headers = basic(app.key)
  const post = (target: string, body: object) => ask({ actor, method: 'POST', target, body, headers })
  const { merchant } = NewMerchant.parse(await post('/merchants', SHOP))
  const below = `/merchants/${merchant.id}`
  await post(`${below}/apps`, { appId: other.id })
  const { webhook } = NewWebhook.parse(await post(`${below}/webhooks`, { url: 'https://hooks.example/shop' }))
  await post(`${below}/users`, { email: INVITED })
  const [user] = z.tuple([User]).parse(await ask({ actor, method: 'GET', target: `${below}/users?limit=10`, headers }))
  const shop = { merchantId: merchant.id, userId: user.id, appId: other.id, webhookId: webhook.id }
  return { key: app.key, publicKey: merchant.key, shop }
}

interface Shopping {
  readonly ask: Ask
  readonly memory: Memory
  readonly actor: number
  readonly publicKey: string
}

interface OrderShopping extends Shopping {
  readonly step: string
}

/** Creates a captured and disputed payment of a merchant, and a customer with an unfinished order. */
export async function sell({ ask, memory, actor, publicKey: key, step }: OrderShopping): Promise<void> {
  const post = (target: string, body: object) => ask({ actor, method: 'POST', target, body })
  for (const [pool, value] of CARD) memory.keep(actor, pool, await tokenize(ask, actor, { type: pool, value }))
  const client = clientOf(ask, actor)
  const order = { key, card: { number: PAN, code: CODE }, test: {} }
  await payOrder(client, { ...order, test: FRICTIONLESS })
  const transactionId = memory.pick(actor, 'transactionId', 1)
  await post(`/transactions/${transactionId}/captures`, { amount: 700 })
  await post(`/test/transactions/${transactionId}/disputes`, { amount: 100 })
  await post(`/test/transactions/${transactionId}/frauds`, {})
  const { number, code, hints } = await advanceOrder(client, order, step)
  memory.keep(actor, 'order', { key, number, code, hints, step })
}

export function linkOf(key: string): Readonly<Record<'key' | 'test' | 'value', string>> {
  return { key, test: '1', value: '10' }
}

/** Leaves a customer of a payment link at the bank, and stores the cookie of the page. */
export async function leaveAtBank({ ask, memory, actor, publicKey }: Shopping): Promise<void> {
  const parameters = linkOf(publicKey)
  const link = new URLSearchParams(parameters).toString()
  memory.keep(actor, 'link', link)
  const shown = String(await ask({ actor, method: 'GET', target: `/pos?${link}` }))
  const pageId = /name="page" value="([^"]+)"/.exec(shown)?.[1] ?? ''
  const body = { link, page: pageId, number: PAN, expiry: '12/66', code: CODE }
  await ask({ actor, method: 'POST', target: '/pos/pay', body })
  memory.keep(actor, 'atBank', { ...parameters, pageId, cookie: memory.pick(actor, 'cookie', 1) })
}

async function tokenize(ask: Ask, actor: number, body: object): Promise<string> {
  return NewToken.parse(await ask({ actor, method: 'POST', target: '/vault', body, headers: VERSION })).token
}

export function clientOf(ask: Ask, actor: number): Pick<PaymentsClient, 'ask'> {
  return {
    ask: async (method, target, body, headers = {}) => {
      const answer = await ask({ actor, method, target, body, headers })
      return typeof answer === 'string' ? answer : JSON.stringify(answer)
    },
  }
}
