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

const textOf = (text: string) => text.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/g, 'TIME')
const TABS = 'Stock Levels Low stock Movements Reservations Locations'

describe('GET /stock', () => {
  it('200: lists levels by product and location', async () => {
    const page = await (await test.signedIn('viewer')).open('/stock')
    expect([page.status, textOf(page.text), page.html.includes('<img')]).toEqual([
      200,
      `${TABS} SKU, whole Location All locations MAIN SHELF Filter SKU Location Available On hand Reserved Changed MUG SHELF 1,200 1,200 0 TIME ${XSS} MAIN 3 3 0 TIME`,
      false,
    ])
  })

  it('200: shows the level of a SKU at a location', async () => {
    const page = await (await test.signedIn('support')).open(`/stock?search=MUG&location=${shelf}`)
    expect(textOf(page.text)).toContain('Available On hand Reserved Changed Actions MUG SHELF 1,200 1,200 0 TIME Count')
  })

  it('200: says when no stock is like that', async () => {
    const page = await (await test.signedIn('viewer')).open('/stock?search=NOTHING')
    expect(page.text).toBe(`${TABS} SKU, whole Location All locations MAIN SHELF Filter No stock is like that.`)
  })
})
