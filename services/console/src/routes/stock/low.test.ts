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

const textOf = (text: string) => text.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/g, 'TIME')
const TABS = 'Stock Levels Low stock Movements Reservations Locations'

describe('GET /stock/low', () => {
  it('200: lists what runs low', async () => {
    const page = await (await test.signedIn('viewer')).open('/stock/low')
    expect(textOf(page.text)).toBe(
      `${TABS} Less available than Show SKU Location Available On hand Reserved Changed ${XSS} MAIN 3 3 0 TIME`,
    )
  })

  it('200: takes another limit', async () => {
    const page = await (await test.signedIn('viewer')).open('/stock/low?below=2')
    expect(textOf(page.text)).toBe(`${TABS} Less available than Show No level has less than 2 available.`)
  })
})
