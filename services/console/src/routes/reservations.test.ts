import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestConsole, type TestConsole } from '../../test/console-app.ts'
import { callInventory, createLocation, createProduct } from '../../test/inventory.ts'
import { type RunningService, startService } from '../../test/services.ts'

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

describe('GET /reservations', () => {
  it('200: offers no release to a viewer', async () => {
    await callInventory(inventory, '/reservations', { productId: mug, locationId: shelf, quantity: 1 })
    expect((await (await test.signedIn('viewer')).open('/reservations')).html).not.toContain('/release')
  })
})
