import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refusedBody } from '../../test/bodies.ts'
import { startInventory, type TestInventory } from '../../test/inventory-app.ts'

let inventory: TestInventory
beforeAll(async () => {
  inventory = await startInventory({ INVENTORY_REQUIRE_IF_MATCH: 'true' })
})
afterAll(() => inventory.close())

const PRODUCT = { sku: 'A', attributes: {} }
const send = (method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', url: string, payload?: object, headers = {}) =>
  inventory.app.inject({ method, url, headers, ...(payload && { payload }) })

describe('INVENTORY_REQUIRE_IF_MATCH', () => {
  it.each([
    ['PUT', '/products/1', PRODUCT],
    ['PATCH', '/products/1', PRODUCT],
    ['DELETE', '/products/1', undefined],
    ['PATCH', '/locations/1', { name: 'x' }],
    ['DELETE', '/locations/1', undefined],
  ] as const)('428: %s %s needs the header If-Match', async (method, url, payload) => {
    const response = await send(method, url, payload)
    expect([response.statusCode, response.json()]).toEqual([
      428,
      refusedBody(428, 'PRECONDITION_REQUIRED', 'This change needs the header If-Match.'),
    ])
  })

  it('201: creates without the header', async () => {
    const created = await send('POST', '/products', PRODUCT)
    const { id } = created.json().data
    expect([created.statusCode, created.json()]).toEqual([
      201,
      { statusCode: 201, data: { id, message: `Product ${id} was created.` } },
    ])
  })

  it('200: changes the version that the header names', async () => {
    const product = { sku: 'B', attributes: {} }
    const { id } = (await send('POST', '/products', product)).json().data
    const changed = await send('PUT', `/products/${id}`, product, { 'if-match': `"p${id}-1"` })
    expect([changed.statusCode, changed.json()]).toEqual([200, { statusCode: 200, data: { id, ...product } }])
  })
})
