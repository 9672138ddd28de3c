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

describe('POST /reservations/:reservationId/release', () => {
  it('303: releases after a question', async () => {
    const made = await callInventory(inventory, '/reservations', {
      productId: mug,
      locationId: shelf,
      quantity: 4,
      reference: 'order-7',
    })
    const browser = await test.signedIn('support')
    const [, path = ''] =
      /href="(\/reservations\/\d+\/release)" data-ask/.exec((await browser.open('/reservations')).html) ?? []
    expect([made, (await browser.open(path)).text]).toEqual([
      expect.objectContaining({ statusCode: 201 }),
      `Release reservation ${path.split('/')[2]} 4 that order-7 keeps can be sold to others at once. Whoever has made the reservation can no longer commit it. This cannot be undone. Release Cancel`,
    ])
    const page = await browser.submit(path)
    expect([page.path, page.html.includes('<span>The reservation is released</span>')]).toEqual(['/reservations', true])
    expect(await callInventory(inventory, `/stock/${mug}`)).toMatchObject({ data: { reserved: 0 } })
  })
})
