import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStockedConsole, type StockedConsole, XSS } from '../../test/stocked-console.ts'

let close: StockedConsole['close']
let test: StockedConsole['test']
let shelf: StockedConsole['shelf']
beforeAll(async () => {
  ;({ test, shelf, close } = await openStockedConsole())
})
afterAll(() => close())

const textOf = (text: string) => text.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/g, 'TIME')
const TABS =
  'Stock Your role viewer may not count or move stock; support and admin may. Levels Low stock Movements Reservations Locations'

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
    expect([page.status, textOf(page.text)]).toEqual([
      200,
      expect.stringContaining('Available On hand Reserved Changed Actions MUG SHELF 1,200 1,200 0 TIME Count'),
    ])
  })

  it('200: says when no stock matches the filters', async () => {
    const page = await (await test.signedIn('viewer')).open('/stock?search=NOTHING')
    expect([page.status, page.text]).toEqual([
      200,
      `${TABS} SKU, whole Location All locations MAIN SHELF Filter No stock matches. Clear the filters`,
    ])
  })
})
