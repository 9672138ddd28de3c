import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { createApp, listen, merchantBody, PASSWORD, post, Session, signIn, signUp } from '../../fixtures.ts'
import { createClient, payOrder } from '../canaries/orders.ts'
import { type Fixture, SERVICES, type ServiceName } from './fixture.ts'

export interface Load {
  /** Responses of each service by status, since the last call. */
  take(): Readonly<Record<ServiceName, ReadonlyMap<number, number>>>
  stop(): Promise<void>
}

const PREPARE: Readonly<
  Record<ServiceName, (fixture: Fixture, started: AsyncDisposableStack) => Promise<readonly Action[]>>
> = { auth: prepareAuthLoad, payments: preparePaymentsLoad, inventory: prepareInventoryLoad }
/** The maximum number of open actions of each service. During a fault, more would only wait. */
const UNDER_WAY_MAX = 40

/** Begins actions of each service at a fixed rate, without waiting for earlier ones. */
export async function startLoad(fixture: Fixture, started: AsyncDisposableStack, perSecond: number): Promise<Load> {
  const counts = new Map(SERVICES.map((name) => [name, new Map<number, number>()]))
  const loads = await Promise.all(
    SERVICES.map(async (name) => ({
      name,
      actions: await PREPARE[name](fixture, started),
      underWay: new Set<Promise<void>>(),
    })),
  )
  let isStopped = false
  const begin = ({ name, actions, underWay }: (typeof loads)[number], turn: number) => {
    const action = actions[turn % actions.length]
    if (!action || underWay.size >= UNDER_WAY_MAX) return
    const count = counts.get(name)
    const run = action().then((statuses) => {
      for (const status of statuses) count?.set(status, (count.get(status) ?? 0) + 1)
      underWay.delete(run)
    })
    underWay.add(run)
  }
  const run = async () => {
    for (let turn = 0; !isStopped; turn += 1) {
      for (const load of loads) begin(load, turn)
      await delay(1_000 / perSecond)
    }
  }
  const running = run()
  const take = (name: ServiceName) => {
    const taken = new Map(counts.get(name))
    counts.get(name)?.clear()
    return taken
  }
  return {
    take: () => ({ auth: take('auth'), payments: take('payments'), inventory: take('inventory') }),
    stop: async () => {
      isStopped = true
      await running
      await Promise.all(loads.flatMap(({ underWay }) => [...underWay]))
    },
  }
}

interface Reply {
  readonly status: number
  readonly body: unknown
}

interface Ask {
  readonly body?: object | string
  readonly headers?: Readonly<Record<string, string>>
}

/** A request of a client, or several. Resolves to the statuses. 0 stands for no response. */
type Action = () => Promise<readonly number[]>

const PATIENCE_MS = 15_000

/** Sends JSON or an unchanged text. Never throws, because services are down during a fault. */
async function send(method: string, url: string, { body, headers = {} }: Ask = {}): Promise<Reply> {
  const type = typeof body === 'object' ? { 'content-type': 'application/json' } : {}
  try {
    const response = await fetch(url, {
      method,
      headers: { ...type, ...headers },
      body: typeof body === 'object' ? JSON.stringify(body) : (body ?? null),
      signal: AbortSignal.timeout(PATIENCE_MS),
    })
    const text = await response.text()
    return { status: response.status, body: parse(text) }
  } catch {
    return { status: 0, body: undefined }
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const USERS = 8
interface User {
  readonly email: string
  session: Session
  /** A client refreshes again only after it has the response to the last refresh. */
  isRefreshing: boolean
}

/** Uses a refresh token. Returns `undefined` if auth refuses it. */
export async function refresh(url: string, token: string): Promise<Session | undefined> {
  const { body } = await send('POST', `${url}/token?grant_type=refresh_token`, { body: { refresh_token: token } })
  return Session.safeParse(body).data
}

/** Users read their account, refresh (sometimes twice), sign in and request a new password. */
async function prepareAuthLoad({ auth: { url } }: Pick<Fixture, 'auth'>): Promise<readonly Action[]> {
  const users: User[] = []
  while (users.length < USERS) {
    const email = `${randomUUID()}@example.com`
    users.push({ email, session: await signUp(url, email), isRefreshing: false })
  }
  const next = (): User => {
    const [user, ...others] = users.splice(0, USERS)
    if (!user) throw new Error('nobody is signed up')
    users.push(...others, user)
    return user
  }
  const ask = (path: string, body: object) => send('POST', url + path, { body })
  const read: Action = async () => {
    const headers = { authorization: `Bearer ${next().session.access_token}` }
    return [(await send('GET', `${url}/user`, { headers })).status]
  }
  const rotate = (times: number): Action => {
    return async () => {
      const user = next()
      if (user.isRefreshing) return []
      user.isRefreshing = true
      const body = { refresh_token: user.session.refresh_token }
      const replies = await Promise.all(
        Array.from({ length: times }, () => ask('/token?grant_type=refresh_token', body)),
      )
      const sessions = replies.flatMap((reply) => Session.safeParse(reply.body).data ?? [])
      // A fault may lose responses with session tokens. The user then signs in again.
      user.session = sessions.at(-1) ?? (await signIn(url, user.email).catch(() => user.session))
      user.isRefreshing = false
      return replies.map(({ status }) => status)
    }
  }
  const tryPassword = (password: string): Action => {
    return async () => [(await ask('/token?grant_type=password', { email: next().email, password })).status]
  }
  const forget = (path: string): Action => {
    return async () => [(await ask(path, { email: next().email })).status]
  }
  const signUpAnother: Action = async () => {
    const { status } = await ask('/signup', { email: `${randomUUID()}@example.com`, password: PASSWORD })
    return [status]
  }
  return [
    ...[read, rotate(1), read, forget('/recover'), read, tryPassword(PASSWORD), read, rotate(2)],
    ...[forget('/magiclink'), read, signUpAnother, forget('/recover'), read, tryPassword('wrong'), rotate(1)],
  ]
}

const PRODUCTS = 16
const Made = z.object({ data: z.object({ id: z.int() }) })
/** The id of the location that exists in every database. */
const MAIN = 1

export async function addProduct(url: string): Promise<number> {
  const { data } = Made.parse(await post(`${url}/products`, productBody()))
  const receipt = { type: 'receive', productId: data.id, locationId: MAIN, quantity: 1_000_000 }
  await post(`${url}/movements`, receipt)
  return data.id
}

export async function createProduct(url: string): Promise<number> {
  return (await send('POST', `${url}/products`, { body: productBody() })).status
}

function productBody(): object {
  return { sku: `DRILL-${randomUUID()}`, attributes: '{"color":"red"}' }
}

export async function reserve(url: string, productId: number, expiresInSeconds: number): Promise<number | undefined> {
  const body = { productId, locationId: MAIN, quantity: 1, expiresInSeconds }
  return Made.safeParse((await send('POST', `${url}/reservations`, { body })).body).data?.data.id
}

export async function ship(url: string, productId: number, address: string): Promise<number> {
  const body = { type: 'ship', productId, locationId: MAIN, quantity: 1 }
  return (await send('POST', `${url}/movements`, { body, headers: { 'x-forwarded-for': address } })).status
}

/** Clients list products, and receive, reserve and ship stock. */
async function prepareInventoryLoad({ inventory: { url } }: Pick<Fixture, 'inventory'>): Promise<readonly Action[]> {
  const products: number[] = []
  while (products.length < PRODUCTS) products.push(await addProduct(url))
  let turn = 0
  const next = (): number => {
    turn += 1
    return products[turn % PRODUCTS] ?? 0
  }
  const get = (path: () => string): Action => {
    return async () => [(await send('GET', url + path())).status]
  }
  const move = (line: object): Action => {
    return async () => {
      const body = { productId: next(), locationId: MAIN, ...line }
      return [(await send('POST', `${url}/movements`, { body })).status]
    }
  }
  const keep = (expiresInSeconds: number, end: (id: number) => Promise<{ status: number }>): Action => {
    return async () => {
      const id = await reserve(url, next(), expiresInSeconds)
      return id === undefined ? [0] : [201, (await end(id)).status]
    }
  }
  const importSome: Action = async () => {
    const lines = Array.from({ length: 20 }, () => `{"sku":"IMPORT-${randomUUID()}","attributes":{"n":1}}\n`)
    const headers = { 'content-type': 'application/x-ndjson' }
    return [(await send('POST', `${url}/products/import`, { body: lines.join(''), headers })).status]
  }
  const one = get(() => `/products/${next()}`)
  return [
    ...[one, get(() => '/products?limit=20'), one, move({ type: 'receive', quantity: 5 }), get(() => '/users')],
    ...[
      one,
      move({ type: 'ship', quantity: 1 }),
      get(() => '/locations'),
      move({ type: 'adjust', delta: 1, reason: 'found' }),
    ],
    keep(600, (id) => send('POST', `${url}/reservations/commit/${id}`, { body: {} })),
    ...[one, get(() => `/stock/${next()}`), keep(600, (id) => send('DELETE', `${url}/reservations/${id}`))],
    ...[keep(1, async () => ({ status: 200 })), get(() => '/users/1'), importSome],
  ]
}

const CARD = { number: '4000056655665556', code: '739' }
const CreatedMerchant = z.object({ merchant: z.object({ id: z.string(), key: z.string() }) })
const Transactions = z.array(z.object({ id: z.string() })).min(1)

interface Shop {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly merchantId: string
  readonly merchantKey: string
}

export async function openShop(url: string): Promise<Shop> {
  const headers = await createApp(url)
  const { merchant } = CreatedMerchant.parse(
    await post(`${url}/merchants`, { ...merchantBody(1), currency: 'EUR' }, headers),
  )
  return { url, headers, merchantId: merchant.id, merchantKey: merchant.key }
}

export async function invite({ url, headers, merchantId }: Shop): Promise<number> {
  const body = { email: `${crypto.randomUUID()}@example.com` }
  return (await send('POST', `${url}/merchants/${merchantId}/users`, { headers, body })).status
}

/** Customers pay, and a shop captures, refunds, voids, invites and reads. */
async function preparePaymentsLoad(
  { payments }: Pick<Fixture, 'payments'>,
  started: AsyncDisposableStack,
): Promise<readonly Action[]> {
  const shop = await openShop(payments.url)
  const { url, headers, merchantId } = shop
  const merchant = `${url}/merchants/${merchantId}`
  await post(`${merchant}/webhooks`, { url: await startSink(started) }, headers)
  const client = createClient({ url, headers })
  const pay: Action = async () => {
    const isPaid = await payOrder(client, { key: shop.merchantKey, card: CARD, test: {} }).catch(() => false)
    return [isPaid ? 200 : 0]
  }
  await pay()
  const findNewest = async (): Promise<string> => {
    const { body } = await send('GET', `${merchant}/transactions?limit=1`, { headers })
    return Transactions.safeParse(body).data?.[0]?.id ?? ''
  }
  const ask = async (path: string, body: object) => (await send('POST', path, { headers, body })).status
  const operate = (...operations: readonly string[]): Action => {
    return async () => {
      const transaction = `${url}/transactions/${await findNewest()}`
      const statuses: number[] = []
      for (const operation of operations) statuses.push(await ask(`${transaction}/${operation}`, { amount: 10 }))
      return statuses
    }
  }
  const charge: Action = async () => {
    const body = { transactionId: await findNewest(), currency: 'EUR', amount: 500 }
    return [await ask(`${merchant}/transactions`, body)]
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
  const payOut: Action = async () => [await ask(`${url}/test/merchants/${merchantId}/payouts`, {})]
  const look = get(`${merchant}/transactions?limit=20`)
  return [
    ...[pay, look, operate('captures', 'refunds'), get(`${url}/me`), charge, look, rename, operate('captures')],
    ...[get(merchant), async () => [await invite(shop)], operate('voids'), strange, charge, payOut, look],
  ]
}

async function startSink(started: AsyncDisposableStack): Promise<string> {
  const server = await listen((request, response) => {
    request.resume()
    response.end()
  })
  started.defer(server.close)
  return server.url
}
