import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestConsole, type TestConsole } from '../../../test/console-app.ts'
import { callInventory, createProduct } from '../../../test/inventory.ts'
import { type RunningService, startService } from '../../../test/services.ts'

let auth: RunningService
let inventory: RunningService
let test: TestConsole
beforeAll(async () => {
  ;[auth, inventory] = await Promise.all([startService('auth'), startService('inventory')])
  test = await openTestConsole([auth, inventory])
})
afterAll(async () => {
  await test.close()
  for (const service of [auth, inventory]) await service.stop()
})

const problemOf = (html: string) => /role="alert">([^<]*)</.exec(html)?.[1]

describe('POST /products/:productId/deletion', () => {
  it('303: deletes after a question that names what will happen', async () => {
    const id = await createProduct(inventory, 'GONE')
    const browser = await test.signedIn('admin')
    expect((await browser.open(`/products/${id}`)).html).toContain(`href="/products/${id}/deletion" data-ask`)
    expect((await browser.open(`/products/${id}/deletion`)).text).toBe(
      'Delete GONE GONE leaves the list, exports and the API, and its SKU becomes free. Its movements stay in the ledger. A product with stock or an active reservation is not deleted. This cannot be undone. Delete Cancel',
    )
    const page = await browser.submit(`/products/${id}/deletion`)
    expect([page.firstStatus, page.status, page.path, page.html.includes('<span>GONE is deleted</span>')]).toEqual([
      303,
      200,
      '/products',
      true,
    ])
    const gone = await browser.open(`/products/${id}`)
    expect([gone.status, gone.text]).toEqual([
      404,
      '404 Not found There is no such object, or it is gone. Go to the overview',
    ])
  })

  it('422: says that there is still stock', async () => {
    const id = await createProduct(inventory, 'KEPT')
    await callInventory(inventory, '/movements', { type: 'receive', productId: id, locationId: 1, quantity: 1 })
    const browser = await test.signedIn('admin')
    await browser.open(`/products/${id}/deletion`)
    const page = await browser.submit(`/products/${id}/deletion`)
    expect([page.status, problemOf(page.html)]).toEqual([422, 'The product still has stock.'])
  })
})
