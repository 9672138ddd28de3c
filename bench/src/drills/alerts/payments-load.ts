import { once } from 'node:events'
import { createServer } from 'node:http'
import { portOf } from '@trestle/testing/free-port.ts'
import { z } from 'zod'
import { merchantBody } from '../../fixtures.ts'
import { createClient, payOrder } from '../canaries/orders.ts'
import { type Action, send, sendOrThrow } from './client.ts'
import type { Stage } from './stage.ts'

const CARD = { number: '4000056655665556', code: '739' }
const Transactions = z.array(z.object({ id: z.string() })).min(1)

/** An app, and a merchant that it has access to. */
export interface Shop {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly key: string
  readonly merchantId: string
  readonly merchantKey: string
}

/** Opens a test merchant. */
export async function openShop(url: string): Promise<Shop> {
  const { app } = z
    .object({ app: z.object({ key: z.string() }) })
    .parse(await sendOrThrow('POST', `${url}/apps`, { body: { name: 'drill' } }))
  const headers = { authorization: `Basic ${Buffer.from(`:${app.key}`).toString('base64')}` }
  const { merchant } = z
    .object({ merchant: z.object({ id: z.string(), key: z.string() }) })
    .parse(await sendOrThrow('POST', `${url}/merchants`, { headers, body: { ...merchantBody(1), currency: 'EUR' } }))
  return { url, headers, key: app.key, merchantId: merchant.id, merchantKey: merchant.key }
}

/** Invites a user to the merchant by mail. */
export async function invite({ url, headers, merchantId }: Shop): Promise<number> {
  const body = { email: `${crypto.randomUUID()}@example.com` }
  return (await send('POST', `${url}/merchants/${merchantId}/users`, { headers, body })).status
}

/** Customers pay, and a shop captures, refunds, voids, invites and reads. */
export async function preparePaymentsLoad(
  { payments }: Pick<Stage, 'payments'>,
  started: AsyncDisposableStack,
): Promise<readonly Action[]> {
  const shop = await openShop(payments.url)
  const { url, headers, merchantId } = shop
  const merchant = `${url}/merchants/${merchantId}`
  await sendOrThrow('POST', `${merchant}/webhooks`, { headers, body: { url: await startSink(started) } })
  const client = createClient({ url, key: shop.key })
  const pay: Action = async () => {
    const isPaid = await payOrder(client, { key: shop.merchantKey, card: CARD, test: {} }).catch(() => false)
    return [isPaid ? 200 : 0]
  }
  await pay()
  const findNewest = async (): Promise<string> => {
    const { body } = await send('GET', `${merchant}/transactions?limit=1`, { headers })
    return Transactions.safeParse(body).data?.[0]?.id ?? ''
  }
  const post = async (path: string, body: object) => (await send('POST', path, { headers, body })).status
  const operate = (...operations: readonly string[]): Action => {
    return async () => {
      const transaction = `${url}/transactions/${await findNewest()}`
      const statuses: number[] = []
      for (const operation of operations) statuses.push(await post(`${transaction}/${operation}`, { amount: 10 }))
      return statuses
    }
  }
  const charge: Action = async () => {
    const body = { transactionId: await findNewest(), currency: 'EUR', amount: 500 }
    return [await post(`${merchant}/transactions`, body)]
  }
  const get = (address: string): Action => {
    return async () => [(await send('GET', address, { headers })).status]
  }
  const strange: Action = async () => [
    (await send('GET', `${url}/me`, { headers: { authorization: 'Basic Ong=' } })).status,
  ]
  const rename: Action = async () => {
    const body = { name: `Shop ${Date.now()}` }
    return [(await send('PUT', merchant, { headers, body })).status]
  }
  const payOut: Action = async () => [await post(`${url}/test/merchants/${merchantId}/payouts`, {})]
  const look = get(`${merchant}/transactions?limit=20`)
  return [
    ...[pay, look, operate('captures', 'refunds'), get(`${url}/me`), charge, look, rename, operate('captures')],
    ...[get(merchant), async () => [await invite(shop)], operate('voids'), strange, charge, payOut, look],
  ]
}

/** Starts a server that accepts every event. */
async function startSink(started: AsyncDisposableStack): Promise<string> {
  const server = createServer((request, response) => {
    request.resume()
    response.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  started.defer(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${portOf(server)}/`
}
