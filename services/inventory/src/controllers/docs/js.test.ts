import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startInventory, type TestInventory } from '../../../test/inventory-app.ts'

let inventory: TestInventory
beforeAll(async () => {
  inventory = await startInventory()
})
afterAll(() => inventory.close())

describe('GET /docs/js/scalar.js', () => {
  it('200: serves the script under the URL that the page names', async () => {
    const { body } = await inventory.app.inject('/docs/')
    const [, source = ''] = /<script src="([^"]+)"/.exec(body) ?? []
    const response = await inventory.app.inject(new URL(source, 'http://localhost/docs/').href)
    const type = 'application/javascript; charset=utf-8'
    expect([response.statusCode, response.headers['content-type']]).toEqual([200, type])
    expect(response.rawPayload.length).toBeGreaterThan(1_000_000)
  })
})
