import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startInventory, type TestInventory } from '../../test/inventory-app.ts'

let inventory: TestInventory
beforeAll(async () => {
  inventory = await startInventory()
})
afterAll(() => inventory.close())

describe('GET /docs', () => {
  it('301: redirects a URL without the last slash', async () => {
    const response = await inventory.app.inject('/docs')
    expect([response.statusCode, response.headers.location]).toEqual([301, '/docs/'])
  })

  it('200: shows a page that names no other host', async () => {
    const response = await inventory.app.inject('/docs/')
    expect([response.statusCode, response.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    expect(response.body).not.toMatch(/https?:\/\//)
  })
})
