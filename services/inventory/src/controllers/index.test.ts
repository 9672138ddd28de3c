import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startInventory, type TestInventory } from '../../test/inventory-app.ts'

let inventory: TestInventory
beforeAll(async () => {
  inventory = await startInventory()
})
afterAll(() => inventory.close())

describe('GET /', () => {
  it('200: names the service', async () => {
    const response = await inventory.app.inject({ url: '/' })
    expect([response.statusCode, response.json()]).toEqual([
      200,
      { name: 'inventory', version: '0.1.0', docs: '/docs' },
    ])
  })
})
