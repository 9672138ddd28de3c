import { afterAll, beforeAll, expect, it } from 'vitest'
import { startInventory, startReplica, type TestInventory, type TestReplica } from '../../../test/inventory-app.ts'
import { operatorHeaders, testOperators } from '../../../test/operators.ts'

let inventory: TestInventory
let guarded: TestReplica
beforeAll(async () => {
  inventory = await startInventory()
  guarded = await startReplica(inventory.databaseUrl, {}, { operators: testOperators })
  await inventory.query(`INSERT INTO inventory.products (sku, attributes) VALUES ('A', '{}'), ('B', '{}'), ('C', '{}')`)
  await inventory.query(`UPDATE inventory.products SET deleted_at = now() WHERE sku = 'C'`)
  await inventory.query(`INSERT INTO inventory.locations (code, name) VALUES ('S', 'South')`)
  for (const [productId, locationId, quantity] of [
    [1, 1, 4],
    [1, 2, 20],
    [2, 1, 9],
  ]) {
    await post('/movements', { type: 'receive', productId, locationId, quantity })
  }
  await post('/reservations', { productId: 1, locationId: 2, quantity: 15 })
})
afterAll(async () => {
  await guarded?.close()
  await inventory?.close()
})

const post = (url: string, payload: object) => inventory.app.inject({ method: 'POST', url, payload })
const get = async (url: string) => {
  const answer = await guarded.app.inject({ url, headers: operatorHeaders('viewer') })
  return { status: answer.statusCode, body: answer.json(), link: String(answer.headers.link) }
}
const level = (productId: number, locationId: number, onHand: number, reserved = 0) => ({
  productId,
  locationId,
  onHand,
  reserved,
  available: onHand - reserved,
  updatedAt: expect.any(String),
  sku: productId === 1 ? 'A' : 'B',
  location: locationId === 1 ? 'MAIN' : 'S',
})

it('200: GET /operator/low-stock lists the lowest levels first, in pages', async () => {
  const first = await get('/operator/low-stock?limit=2')
  expect(first.status).toBe(200)
  expect(first.body).toEqual({ statusCode: 200, data: [level(1, 1, 4), level(1, 2, 20, 15)] })
  const next = /<([^>]+)>; rel="next"/.exec(first.link)?.[1] ?? ''
  expect((await get(next)).body).toEqual({ statusCode: 200, data: [level(2, 1, 9)] })
  expect((await get('/operator/low-stock?below=5')).body).toEqual({ statusCode: 200, data: [level(1, 1, 4)] })
})
