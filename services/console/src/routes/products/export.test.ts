import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestConsole, type TestConsole } from '../../../test/console-app.ts'
import { createProduct } from '../../../test/inventory.ts'
import { type RunningService, startService } from '../../../test/services.ts'

let auth: RunningService
let inventory: RunningService
let test: TestConsole
beforeAll(async () => {
  ;[auth, inventory] = await Promise.all([startService('auth'), startService('inventory')])
  test = await openTestConsole([auth, inventory])
  await createProduct(inventory, 'TAKEN')
})
afterAll(async () => {
  await test.close()
  for (const service of [auth, inventory]) await service.stop()
})

describe('GET /products/export', () => {
  it('200: downloads all products', async () => {
    const page = await (await test.signedIn('viewer')).open('/products/export?format=ndjson')
    expect([page.status, page.headers['content-disposition'], page.html]).toEqual([
      200,
      expect.stringMatching(/^attachment; filename=/),
      expect.stringContaining('"sku":"TAKEN"'),
    ])
  })
})
