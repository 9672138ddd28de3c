import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestConsole, type TestConsole } from '../../../test/console-app.ts'
import { callInventory, createLocation, createProduct } from '../../../test/inventory.ts'
import { type RunningService, startService } from '../../../test/services.ts'

let auth: RunningService
let inventory: RunningService
let test: TestConsole
let mug: number
let shelf: number
const XSS = '<img src=x onerror=alert(1)>'
beforeAll(async () => {
  ;[auth, inventory] = await Promise.all([startService('auth'), startService('inventory')])
  test = await openTestConsole([auth, inventory])
  mug = await createProduct(inventory, 'MUG')
  const bowl = await createProduct(inventory, XSS)
  shelf = await createLocation(inventory, 'SHELF', XSS)
  const receive = { type: 'receive', productId: mug, locationId: shelf, quantity: 1200, reference: 'PO-1' }
  await callInventory(inventory, '/movements', receive)
  const other = { type: 'receive', productId: bowl, locationId: 1, quantity: 3, reason: XSS }
  await callInventory(inventory, '/movements', other)
})
afterAll(async () => {
  await test.close()
  for (const service of [auth, inventory]) await service.stop()
})

describe('POST /locations/:locationId/deletion', () => {
  it('303: makes, changes and deletes a location', async () => {
    const browser = await test.signedIn('admin')
    await browser.open('/locations/new')
    const made = await browser.submit('/locations/new', { code: 'VAN', name: 'The van', active: 'yes' })
    const id = /href="\/stock\?location=(\d+)">VAN</.exec(made.html)?.[1]
    await browser.open(`/locations/${id}`)
    const changed = await browser.submit(`/locations/${id}`, { code: 'VAN-2', name: 'The other van' })
    expect(changed.text).toContain('VAN-2 The other van takes no stock Change')
    await browser.open(`/locations/${id}/deletion`)
    const deleted = await browser.submit(`/locations/${id}/deletion`)
    expect([deleted.path, deleted.text.includes('VAN-2')]).toEqual(['/locations', false])
  })
})
