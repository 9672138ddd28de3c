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

const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)

describe('POST /reservations/:reservationId/release', () => {
  it('303: releases after a question', async () => {
    const asked = { productId: mug, locationId: shelf, quantity: 4, reference: 'order-7' }
    const made = await callInventory(inventory, '/reservations', asked)
    const browser = await test.signedIn('support')
    const [, path = ''] =
      /href="(\/reservations\/\d+\/release)" data-ask/.exec((await browser.open('/reservations')).html) ?? []
    const id = Number(path.split('/')[2])
    const reservation = { id, ...asked, remaining: 4, status: 'active', expiresAt: null, createdAt: time }
    expect([made, (await browser.open(path)).text]).toEqual([
      { statusCode: 201, data: reservation },
      `Release reservation ${id} 4 that order-7 keeps can be sold to others at once. The client that has made the reservation can no longer commit it. This cannot be undone. Release Cancel`,
    ])
    const page = await browser.submit(path)
    expect([page.firstStatus, page.path, page.html.includes('<span>The reservation is released</span>')]).toEqual([
      303,
      '/reservations',
      true,
    ])
    const levels = { onHand: 1200, reserved: 0, available: 1200 }
    const level = { productId: mug, locationId: shelf, ...levels, updatedAt: time }
    expect(await callInventory(inventory, `/stock/${mug}`)).toEqual({
      statusCode: 200,
      data: { productId: mug, ...levels, locations: [level] },
    })
  })
})
