import { serviceNotFound } from '@trestle/common/documents/front-page.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startInventory, type TestInventory } from '../../test/inventory-app.ts'

let inventory: TestInventory
beforeAll(async () => {
  inventory = await startInventory()
})
afterAll(() => inventory.close())

describe('GET /', () => {
  it('200: names the service, its version and its documents', async () => {
    const response = await inventory.app.inject({ url: '/' })
    expect([response.statusCode, response.json()]).toEqual([
      200,
      { name: 'inventory', version: '0.1.0', docs: '/docs' },
    ])
  })

  it('200: shows a browser a page with links', async () => {
    const response = await inventory.app.inject({ url: '/', headers: { accept: 'text/html,*/*;q=0.8' } })
    expect([response.statusCode, response.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    expect(response.body).toContain('<h1>Trestle inventory</h1>')
  })
})

describe('GET of an unknown path', () => {
  it('404: shows a browser a page', async () => {
    const { statusCode, headers, body } = await inventory.app.inject({
      url: '/nothing',
      headers: { accept: 'text/html' },
    })
    expect([statusCode, headers['content-type'], body]).toEqual([404, 'text/html; charset=utf-8', serviceNotFound.html])
  })
})
