import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { type Action, send, sendOrThrow } from './client.ts'
import type { Stage } from './stage.ts'

const PRODUCTS = 16
const Made = z.object({ data: z.object({ id: z.int() }) })
/** The location that every database has. */
const MAIN = 1

/** Makes a product with stock. */
export async function addProduct(url: string): Promise<number> {
  const { data } = Made.parse(await sendOrThrow('POST', `${url}/products`, { body: productBody() }))
  const receipt = { type: 'receive', productId: data.id, locationId: MAIN, quantity: 1_000_000 }
  await sendOrThrow('POST', `${url}/movements`, { body: receipt })
  return data.id
}

/** Makes a product without stock. */
export async function createProduct(url: string): Promise<number> {
  return (await send('POST', `${url}/products`, { body: productBody() })).status
}

function productBody(): object {
  return { sku: `DRILL-${randomUUID()}`, attributes: '{"color":"red"}' }
}

/** Reserves one unit of a product. */
export async function reserve(url: string, productId: number, expiresInSeconds: number): Promise<number | undefined> {
  const body = { productId, locationId: MAIN, quantity: 1, expiresInSeconds }
  return Made.safeParse((await send('POST', `${url}/reservations`, { body })).body).data?.data.id
}

/** Ships one unit of a product for a client with an address of its own. */
export async function ship(url: string, productId: number, address: string): Promise<number> {
  const body = { type: 'ship', productId, locationId: MAIN, quantity: 1 }
  return (await send('POST', `${url}/movements`, { body, headers: { 'x-forwarded-for': address } })).status
}

/** Clients list products; stock is received, reserved and shipped. */
export async function prepareInventoryLoad({
  inventory: { url },
}: Pick<Stage, 'inventory'>): Promise<readonly Action[]> {
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
