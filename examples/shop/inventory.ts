import { z } from 'zod'
import { call, inventory, unless } from './services.ts'
import shopFile from './shop.json' with { type: 'json' }

const [int, text] = [z.int(), z.string()]
const Attributes = z.looseObject({ name: text, price: z.number() })
const Found = z.object({ id: int, sku: text, attributes: Attributes, stock: z.object({ available: int }) })
const Stock = z.object({ data: z.object({ locations: z.array(z.object({ locationId: int, available: int })) }) })
const Made = z.object({ data: z.object({ id: int }) }).optional()
/** The reservation of stock for an order. */
export const Reservation = z.object({ id: int, locationId: int, expiresAt: text })
export type Reservation = z.infer<typeof Reservation>
/** A product on the shelf. The price is in cents. */
export const Product = z.object({ id: int, sku: text, name: text, about: text, price: int, available: int })
export type Product = z.infer<typeof Product>
/** Posts to inventory. What has a key happens once, however often it is sent. */
const post = (path: string, body: object, key?: string) =>
  call('POST', inventory + path, key ? { 'idempotency-key': key } : {}, body)
/** Lists the products that the shop sells: the products of the demo, or else a few of its own. */
export async function listProducts(): Promise<readonly Product[]> {
  const filter = 'attributes.category[in]=coffee,brewing,mugs,gifts&include=stock&limit=100'
  const found = z.object({ data: z.array(Found) }).parse(await call('GET', `${inventory}/products?${filter}`))
  return found.data.map(({ id, sku, stock, attributes: { name, price, origin, roast, colour } }) => {
    const about = [origin, roast && `${roast} roast`, colour].filter(Boolean).join(', ')
    return { id, sku, name, about, price: Math.round(price * 100), available: stock.available }
  })
}
/** Reserves one piece for an order, wherever there is one. Undefined when none is left. */
export async function reserve({ id }: Product, order: string, key = order): Promise<Reservation | undefined> {
  const { data } = Stock.parse(await call('GET', `${inventory}/stock/${id}`))
  for (const { locationId } of data.locations.filter(({ available }) => available > 0)) {
    const body = { productId: id, locationId, quantity: 1, expiresInSeconds: 900, reference: order }
    const answer = await post('/reservations', body, `${key}-${locationId}`).catch(unless(409))
    if (answer) return z.object({ data: Reservation }).parse(answer).data
  }
  return undefined
}
/** Ships what is reserved. When the payment came too late for that, ships what is left. False when nothing is. */
export async function ship(reservationId: number, product: Product, orderId: string): Promise<boolean> {
  const commit = (id: number) => post(`/reservations/commit/${id}`, {}, `commit-${id}`).catch(unless(409))
  if (await commit(reservationId)) return true
  const again = await reserve(product, orderId, `${orderId}-late`)
  return again !== undefined && Boolean(await commit(again.id))
}
/** Puts back what was not paid. After its time it is back already. */
export const release = (id: number): Promise<unknown> =>
  call('DELETE', `${inventory}/reservations/${id}`).catch(unless(409))
/** Puts back what a customer returns. */
export const takeBack = (productId: number, locationId: number, orderId: string): Promise<unknown> =>
  post('/movements', { type: 'receive', productId, locationId, quantity: 1 }, `return-${orderId}`)

for (const { sku, attributes, stock: quantity } of (await listProducts()).length > 0 ? [] : shopFile.products) {
  const made = Made.parse(await post('/products', { sku, attributes }).catch(unless(409)))
  if (made) await post('/movements', { type: 'receive', productId: made.data.id, locationId: 1, quantity })
}
