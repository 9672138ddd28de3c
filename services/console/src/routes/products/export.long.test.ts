import { startStubProvider } from '@trestle/testing/stub-provider.ts'
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

  it('503: says that inventory has too much to do when it refuses parallel exports, and goes on', async () => {
    const busy = await startStubProvider(() => ({ status: 503, body: 'x'.repeat(1_000_000) }))
    const over = await openTestConsole([auth, { name: 'inventory', url: busy.url }])
    const browser = await over.signedIn('viewer')
    const answers = await Promise.all(Array.from({ length: 8 }, () => browser.open('/products/export')))
    const refused = '503 Not available Inventory has too much to do. Try again in a minute. Go to the overview'
    expect(answers.map(({ status, text }) => [status, text])).toEqual(Array.from({ length: 8 }, () => [503, refused]))
    expect((await over.app.inject('/health')).statusCode).toBe(200)
    await over.close()
    await busy.close()
  })
})
