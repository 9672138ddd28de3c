// Creates a product, reads it back and finds it in the list; lists the users. Start the stack first (npm start), then: npx
// node examples/list-stock.ts
import { z } from 'zod'
import { findAddress } from '../packages/stack/src/status/find-address.ts'

const inventory = await findAddress('INVENTORY_URL')

const Product = z.object({ id: z.int(), sku: z.string() })
const User = z.object({ id: z.int(), username: z.string(), firstName: z.string(), lastName: z.string() })

async function get(path: string): Promise<unknown> {
  const response = await fetch(inventory + path)
  if (!response.ok) throw new Error(`GET ${path}: ${response.status} ${await response.text()}`)
  return response.json()
}

const sku = `CHAIR-${Date.now()}`
const created = await fetch(`${inventory}/products`, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  // `attributes` is text that contains JSON. Numbers in it are kept exactly as written.
  body: JSON.stringify({ sku, attributes: '{"color":"oak","price":49.90}' }),
})
const location = created.headers.get('location')
console.log(`${created.status} ${location}: ${await created.text()}`)

const one = await fetch(inventory + location)
console.log(`${one.status} ${one.headers.get('etag')}: ${await one.text()}`)

const list = z.object({ data: z.array(Product) }).parse(await get('/products?limit=500'))
console.log(`products in the first page: ${list.data.length}`)

const users = z.object({ data: z.array(User) }).parse(await get('/users'))
for (const { id, firstName, lastName } of users.data) console.log(`user ${id}: ${firstName} ${lastName}`)
