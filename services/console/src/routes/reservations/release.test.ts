import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callInventory } from '../../../test/inventory.ts'
import { openStockedConsole, type StockedConsole } from '../../../test/stocked-console.ts'

let close: StockedConsole['close']
let test: StockedConsole['test']
let inventory: StockedConsole['inventory']
let mug: StockedConsole['mug']
let shelf: StockedConsole['shelf']
beforeAll(async () => {
  ;({ test, inventory, mug, shelf, close } = await openStockedConsole())
})
afterAll(() => close())

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
