import { join } from 'node:path'
import type { InjectOptions } from 'fastify'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { buildOpenApi } from '../src/openapi.ts'
import { startInventory, type TestInventory } from './inventory-app.ts'

const FILE = join(import.meta.dirname, '../src/openapi-examples.json')

let inventory: TestInventory
beforeAll(async () => {
  inventory = await startInventory()
})
afterAll(() => inventory.close())

const examples: Record<string, object> = {}

/** Sends a request, and keeps it with its answer as the example of an operation. */
async function show(operationId: string, name: string, request: InjectOptions, expected = 200): Promise<void> {
  const { statusCode, body } = await inventory.app.inject(request)
  expect([operationId, statusCode, body]).toEqual([operationId, expected, expect.any(String)])
  examples[operationId] = {
    [name]: {
      ...(request.payload !== undefined && { request: { body: request.payload } }),
      answers: {
        [expected]: JSON.parse(body.replaceAll(/"20\d\d-\d\d-\d\dT[\d:.]+Z"/g, '"2026-03-01T12:00:00.000Z"')),
      },
    },
  }
}

it('shows for each operation with a body what the service really takes and answers', async () => {
  const post = (url: string, payload: object) => ({ method: 'POST', url, payload }) as const
  const attributes = { color: 'red', price: 19.9 }
  const shelf = { code: 'SHOP', name: 'The shop', active: true }
  await show('postProducts', 't-shirt', post('/products', { sku: 'TSHIRT-RED-M', attributes }), 201)
  await show('getProductsWithProductId', 't-shirt', { url: '/products/1' })
  const changed = { sku: 'TSHIRT-RED-L', attributes }
  await show('putProductsWithProductId', 'rename', { method: 'PUT', url: '/products/1', payload: changed })
  const patch = { attributes: { price: 17.5 } }
  await show('patchProductsWithProductId', 'cheaper', { method: 'PATCH', url: '/products/1', payload: patch })
  await show('postLocations', 'shop', post('/locations', shelf), 201)
  const rename = { name: 'The shop in the mall' }
  await show('patchLocationsWithLocationId', 'rename', { method: 'PATCH', url: '/locations/2', payload: rename })
  const received = { type: 'receive', productId: 1, locationId: 2, quantity: 10, reference: 'delivery-7' }
  await show('postMovements', 'receive', post('/movements', received), 201)
  await show('getStock', 'all', { url: '/stock' })
  const wanted = { productId: 1, locationId: 2, quantity: 3, expiresInSeconds: 900, reference: 'order-1042' }
  await show('postReservations', 'order', post('/reservations', wanted), 201)
  const shipped = post('/reservations/commit/1', { quantity: 2 })
  await show('postReservationsCommitWithReservationId', 'part', shipped)
  await expect(`${JSON.stringify(examples, null, 2)}\n`).toMatchFileSnapshot(FILE)
  const { paths } = await buildOpenApi()
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  const withBody = operations.filter((operation) => 'requestBody' in operation).map(({ operationId }) => operationId)
  // The examples of an import stand beside its media types.
  expect(withBody.filter((id) => !(id in examples))).toEqual(['postProductsImport'])
})
