// Creates a location and a product, receives, reserves and ships stock, and lists what is left. Start the stack first
// (npm start), then: npx node examples/list-stock.ts
import { z } from 'zod'
import { findAddress } from '../packages/stack/src/status/status-file.ts'

const inventory = await findAddress('INVENTORY_URL')

const Created = z.object({ data: z.object({ id: z.int() }) })
const Level = z.object({ onHand: z.int(), reserved: z.int(), available: z.int() })
const Levels = z.object({ data: z.array(Level) })
const Movements = z.object({
  data: z.array(z.object({ type: z.string(), onHandDelta: z.int(), reservedDelta: z.int() })),
})

async function call(method: string, path: string, body?: object): Promise<unknown> {
  const headers = body && { 'content-type': 'application/json' }
  const response = await fetch(inventory + path, {
    method,
    headers: headers ?? {},
    body: body ? JSON.stringify(body) : null,
  })
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
  return response.json()
}

async function showStock(productId: number): Promise<void> {
  for (const { onHand, reserved, available } of Levels.parse(await call('GET', `/stock?productId=${productId}`)).data)
    console.log(`${code}: ${onHand} on hand, ${reserved} reserved, ${available} available`)
}

// Each run has a location and a product of its own, so that it changes nothing of others.
const run = Date.now()
const code = `SHOP-${run}`
const { id: locationId } = Created.parse(await call('POST', '/locations', { code, name: 'Example shop' })).data
console.log(`location ${locationId}: ${code}`)

const sku = `CHAIR-${run}`
// `attributes` may also be text that contains JSON. Numbers in it are kept exactly as written.
const { id: productId } = Created.parse(
  await call('POST', '/products', { sku, attributes: { color: 'oak', price: 49.9 } }),
).data
console.log(`product ${productId}: ${sku}`)

await call('POST', '/movements', { type: 'receive', productId, locationId, quantity: 10, reference: 'delivery 7' })
console.log(`received 10 at ${code}`)
await showStock(productId)

const reserved = await call('POST', '/reservations', { productId, locationId, quantity: 3, expiresInSeconds: 900 })
const { id: reservationId } = Created.parse(reserved).data
console.log(`reserved 3 for 15 minutes: reservation ${reservationId}`)
await showStock(productId)

await call('POST', `/reservations/commit/${reservationId}`, {})
console.log('shipped what was reserved')
await showStock(productId)

// Every change of stock is a row of the ledger, newest first.
for (const movement of Movements.parse(await call('GET', `/movements?productId=${productId}`)).data)
  console.log(`${movement.type}: ${movement.onHandDelta} on hand, ${movement.reservedDelta} reserved`)
