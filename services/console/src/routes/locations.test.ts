import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callInventory, createLocation } from '../../test/inventory.ts'
import { openStockedConsole, type StockedConsole } from '../../test/stocked-console.ts'

let close: StockedConsole['close']
let test: StockedConsole['test']
let inventory: StockedConsole['inventory']
beforeAll(async () => {
  ;({ test, inventory, close } = await openStockedConsole())
})
afterAll(() => close())

const problemOf = (html: string) => /role="alert">([^<]*)</.exec(html)?.[1]

describe('POST /locations/:locationId', () => {
  it('422: does not overwrite a location that was changed meanwhile', async () => {
    const id = await createLocation(inventory, 'MOVED')
    const browser = await test.signedIn('admin')
    await browser.open(`/locations/${id}`)
    await callInventory(inventory, `/locations/${id}`, { name: 'Other' }, 'PATCH')
    const page = await browser.submit(`/locations/${id}`, { code: 'MOVED', name: 'Mine', active: 'yes' })
    expect([page.status, problemOf(page.html)]).toEqual([422, 'The location has another version by now.'])
  })
})
