// Creates a product, receives, reserves and ships stock of it, and lists what is left. Start the stack first (npm start), then:
// npx node examples/list-stock.ts
import { z } from 'zod'
import { findAddress } from '../packages/stack/src/status/find-address.ts'

const inventory = await findAddress('INVENTORY_URL')

const Created = z.object({ data: z.object({ id: z.int() }) })
const Level = z.object({ locationId: z.int(), onHand: z.int(), reserved: z.int(), available: z.int() })
const Levels = z.object({ data: z.array(Level) })
const Locations = z.object({ data: z.array(z.object({ id: z.int(), name: z.string() })) })
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
  for (const level of Levels.parse(await call('GET', `/stock?productId=${productId}`)).data)
    console.log(
      `location ${level.locationId}: ${level.onHand} on hand, ${level.reserved} reserved, ${level.available} available`,
    )
}

const [location] = Locations.parse(await call('GET', '/locations?limit=1')).data
if (location === undefined) throw new Error('inventory has no location')
const { id: locationId } = location

const sku = `CHAIR-${Date.now()}`
// `attributes` may also be text that contains JSON. Numbers in it are kept exactly as written.
const { id: productId } = Created.parse(
  await call('POST', '/products', { sku, attributes: { color: 'oak', price: 49.9 } }),
).data
console.log(`product ${productId}: ${sku}`)

await call('POST', '/movements', { type: 'receive', productId, locationId, quantity: 10, reference: 'delivery 7' })
console.log(`received 10 at ${location.name}`)
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
