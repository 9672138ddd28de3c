import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callInventory } from '../../test/inventory.ts'
import { openStockedConsole, type StockedConsole, XSS } from '../../test/stocked-console.ts'

let close: StockedConsole['close']
let test: StockedConsole['test']
let inventory: StockedConsole['inventory']
let mug: StockedConsole['mug']
let shelf: StockedConsole['shelf']
beforeAll(async () => {
  ;({ test, inventory, mug, shelf, close } = await openStockedConsole())
})
afterAll(() => close())

describe('GET /reservations', () => {
  it('200: names products and locations, and escapes them', async () => {
    await callInventory(inventory, '/reservations', { productId: mug, locationId: shelf, quantity: 2, reference: XSS })
    const page = await (await test.signedIn('viewer')).open('/reservations')
    expect([page.status, page.text.includes('MUG SHELF 2 of 2 active'), page.html.includes('<img')]).toEqual([
      200,
      true,
      false,
    ])
  })

  it('200: offers no release to a viewer', async () => {
    await callInventory(inventory, '/reservations', { productId: mug, locationId: shelf, quantity: 1 })
    const page = await (await test.signedIn('viewer')).open('/reservations')
    expect([page.status, page.html]).toEqual([200, expect.not.stringContaining('/release')])
  })
})
