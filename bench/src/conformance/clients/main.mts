import { deepStrictEqual } from 'node:assert'
import createClient, { type Client } from 'openapi-fetch'
import type { paths as AuthPaths } from './auth.d.ts'
import type { paths as InventoryPaths } from './inventory.d.ts'
import type { components, paths as PaymentsPaths } from './payments.d.ts'

// The main job of each service by openapi-fetch with the types of openapi-typescript. Ends at the first answer that differs.

const { AUTH_URL = '', PAYMENTS_URL = '', INVENTORY_URL = '', SERVICE_ROLE_KEY } = process.env
const VERSION = { header: { 'Accept-Version': '1' } } as const

interface Answer<Data> {
  readonly data?: Data
  readonly response: Response
}

/** The body of an answer with this status. */
async function expect<Data>(call: Promise<Answer<Data>>, status: number): Promise<Data> {
  const answer = await call
  const { data, response } = answer
  if (response.status === status && (data !== undefined || status === 204)) return data as Data
  throw new Error(`${response.status} instead of ${status} of ${response.url}: ${JSON.stringify(answer)}`)
}

async function signIn(run: string): Promise<void> {
  const client = createClient<AuthPaths>({ baseUrl: AUTH_URL })
  const bearer = (token: string | undefined) => ({ headers: { authorization: `Bearer ${token}` } })
  const credentials = { email: `${run}@example.com`, password: 'correct horse battery staple' }
  const body = { ...credentials, email_confirm: true }
  await expect(client.POST('/admin/users', { body, ...bearer(SERVICE_ROLE_KEY) }), 200)

  const byPassword = { query: { grant_type: 'password' } } as const
  const session = await expect(client.POST('/token', { params: byPassword, body: credentials }), 200)
  const user = await expect(client.GET('/user', bearer(session.access_token)), 200)
  deepStrictEqual(user.email, credentials.email)

  const byToken = { query: { grant_type: 'refresh_token' } } as const
  const { refresh_token } = session
  const refreshed = await expect(client.POST('/token', { params: byToken, body: { refresh_token } }), 200)
  await expect(client.POST('/logout', bearer(refreshed.access_token)), 204)
  console.log('auth: signed in, refreshed, signed out')
}

async function pay(): Promise<void> {
  const visitor = createClient<PaymentsPaths>({ baseUrl: PAYMENTS_URL })
  const { app } = await expect(visitor.POST('/apps', { body: {} }), 201)
  const headers = { authorization: `Basic ${Buffer.from(`:${app.key}`).toString('base64')}` }
  const client = createClient<PaymentsPaths>({ baseUrl: PAYMENTS_URL, headers })
  const details = {
    test: true,
    currency: 'EUR',
    email: 'owner@example.com',
    website: 'https://shop.example.com',
    descriptor: 'CORNER SHOP',
    company: { country: 'DK' },
  } as const
  const { merchant } = await expect(client.POST('/merchants', { body: details }), 201)
  const transactionId = await checkOut(visitor, {
    integration: { key: merchant.key },
    test: true,
    amount: { currency: 'EUR', exponent: 2, value: 1099 },
    card: {
      number: await tokenize(visitor, { type: 'pcn', value: '1000000000010000' }),
      expiry: { month: 12, year: new Date().getFullYear() + 1 },
      code: await tokenize(visitor, { type: 'pcsc', value: '123' }),
    },
  })
  const path = { transactionId }
  const capture = client.POST('/transactions/{transactionId}/captures', { params: { path }, body: { amount: 1099 } })
  deepStrictEqual((await expect(capture, 201)).transaction.capturedAmount, 1099)
  const refund = client.POST('/transactions/{transactionId}/refunds', { params: { path }, body: { amount: 500 } })
  deepStrictEqual((await expect(refund, 201)).transaction.refundedAmount, 500)
  const list = { path: { merchantId: merchant.id }, query: { limit: 10 } }
  const transactions = await expect(client.GET('/merchants/{merchantId}/transactions', { params: list }), 200)
  deepStrictEqual(
    transactions.map(({ id }) => id),
    [transactionId],
  )
  console.log('payments: paid, captured, refunded')
}

type Schemas = components['schemas']

async function tokenize(client: Client<PaymentsPaths>, body: Schemas['TokenizeCardRequest']) {
  return await expect(client.POST('/vault', { params: VERSION, body }), 201)
}

/** Sends the order with the hints of each challenge, until the answer has a transaction. */
async function checkOut(client: Client<PaymentsPaths>, order: Schemas['CreatePaymentRequest']): Promise<string> {
  const hints: string[] = []
  while (true) {
    const answer = await client.POST('/payments', { params: VERSION, body: { ...order, hints } })
    const data = await expect(Promise.resolve(answer), answer.response.status === 201 ? 201 : 200)
    if ('transactionId' in data) return data.transactionId
    const [challenge] = data.challenges ?? []
    if (challenge === undefined) throw new Error('neither a challenge nor a transaction')
    const params = { ...VERSION, path: { step: challenge.name } }
    const task = client.POST('/payments/challenges/{step}', { params, body: { ...order, hints } })
    hints.push(...((await expect(task, 200)).hints ?? []))
  }
}

async function reserve(run: string): Promise<void> {
  const client = createClient<InventoryPaths>({ baseUrl: INVENTORY_URL })
  const product = await expect(client.POST('/products', { body: { sku: run, attributes: { color: 'red' } } }), 201)
  const location = await expect(client.POST('/locations', { body: { code: run, name: 'By TypeScript' } }), 201)
  const place = { productId: product.data.id, locationId: location.data.id }
  await expect(client.POST('/movements', { body: { type: 'receive', ...place, quantity: 10 } }), 201)

  const wanted = { ...place, quantity: 3, expiresInSeconds: 900 }
  const reserved = await expect(client.POST('/reservations', { body: wanted }), 201)
  const commit = { params: { path: { reservationId: reserved.data.id } }, body: { quantity: 2 } }
  await expect(client.POST('/reservations/commit/{reservationId}', commit), 200)
  const params = { path: { productId: place.productId }, query: { include: ['stock' as const] } }
  const read = await expect(client.GET('/products/{productId}', { params }), 200)
  deepStrictEqual(read.data.stock, { onHand: 8, reserved: 1, available: 7 })
  console.log('inventory: received, reserved, committed')
}

const run = `typescript-${Date.now()}`
await signIn(run)
await pay()
await reserve(run)
