import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStockedConsole, type StockedConsole, XSS } from '../../../test/stocked-console.ts'

let close: StockedConsole['close']
let test: StockedConsole['test']
beforeAll(async () => {
  ;({ test, close } = await openStockedConsole())
})
afterAll(() => close())

const textOf = (text: string) => text.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/g, 'TIME')
const TABS =
  'Stock Your role viewer may not count or move stock; support and admin may. Levels Low stock Movements Reservations Locations'

describe('GET /stock/low', () => {
  it('200: lists what runs low', async () => {
    const page = await (await test.signedIn('viewer')).open('/stock/low')
    expect([page.status, textOf(page.text)]).toEqual([
      200,
      `${TABS} Less available than Show SKU Location Available On hand Reserved Changed ${XSS} MAIN 3 3 0 TIME`,
    ])
  })

  it('200: lists levels below the limit of the query', async () => {
    const page = await (await test.signedIn('viewer')).open('/stock/low?below=2')
    expect([page.status, page.text]).toEqual([
      200,
      `${TABS} Less available than Show No level has less than 2 available.`,
    ])
  })
})
