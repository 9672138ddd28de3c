import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startInventory, type TestInventory } from '../../test/inventory-app.ts'

let inventory: TestInventory
beforeAll(async () => {
  inventory = await startInventory()
})
afterAll(() => inventory.close())

describe('GET /health', () => {
  it('200: answers that the process lives', async () => {
    const response = await inventory.app.inject({ url: '/health' })
    expect([response.statusCode, response.json()]).toEqual([200, { status: 'ok' }])
  })
})
