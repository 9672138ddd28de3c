import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestConsole, type TestConsole } from '../../../test/console-app.ts'
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

describe('GET /products/:productId/history', () => {
  it('200: lists who has changed what, the newest first', async () => {
    const browser = await test.signedIn('admin')
    await browser.open('/products/new?as=json')
    const made = await browser.submit('/products/new', { sku: 'MUG-4', attributes: '{"a":1.50}' })
    await browser.open(`${made.path}/edit?as=json`)
    await browser.submit(`${made.path}/edit`, { sku: 'MUG-4', attributes: '{"a":2.50}' })
    const page = await browser.open(`${made.path}/history`)
    const known = page.text
      .replaceAll(/admin-[0-9a-f-]{36}@example\.com/g, 'EMAIL')
      .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/g, 'TIME')
    expect([page.status, known]).toEqual([
      200,
      'MUG-4 History of MUG-4 Change By At ↓ Details Changed to version 2 EMAIL admin TIME Show { "sku": "MUG-4", "attributes": "{\\"a\\":2.50}", "mode": "replace", "version": 2 } Created EMAIL admin TIME Show { "sku": "MUG-4", "attributes": "{\\"a\\":1.50}" }',
    ])
  })
})
