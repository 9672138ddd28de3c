import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStockedConsole, type StockedConsole } from '../../../test/stocked-console.ts'

let close: StockedConsole['close']
let test: StockedConsole['test']
beforeAll(async () => {
  ;({ test, close } = await openStockedConsole())
})
afterAll(() => close())

const problemOf = (html: string) => /role="alert">([^<]*)</.exec(html)?.[1]

describe('GET /movements/new', () => {
  it('403: shows no form for a movement that the role may not make', async () => {
    const page = await (await test.signedIn('support')).open('/movements/new?type=ship')
    expect([page.status, page.text]).toEqual([
      403,
      '403 Not allowed Your role support may not do this; admin may. Go to the overview',
    ])
  })

  it('200: says that no product has the SKU', async () => {
    const page = await (await test.signedIn('support')).open('/movements/new?sku=NOPE&location=1')
    expect([page.status, problemOf(page.html)]).toEqual([200, 'No product has the SKU NOPE'])
  })
})
