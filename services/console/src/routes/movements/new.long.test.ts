import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStockedConsole, type StockedConsole } from '../../../test/stocked-console.ts'

let close: StockedConsole['close']
let inventory: StockedConsole['inventory']
let mug: number
let test: StockedConsole['test']
beforeAll(async () => {
  ;({ test, inventory, mug, close } = await openStockedConsole())
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

  it('200: moves stock at the location of its address, also where the list of locations ends before it', async () => {
    const [last] = await inventory.query(`
      WITH made AS (
        INSERT INTO inventory.locations (code, name) SELECT 'L' || n, 'Shelf' FROM generate_series(1, 505) n RETURNING id
      ) SELECT max(id)::int AS id FROM made`)
    const browser = await test.signedIn('support')
    const page = await browser.open(`/movements/new?type=receive&product=${mug}&location=${last?.id}`)
    expect([page.status, page.text.includes('Receive at L505')]).toEqual([200, true])
  })

  it('404: knows no location that is not there', async () => {
    const browser = await test.signedIn('support')
    const page = await browser.open(`/movements/new?product=${mug}&location=999999`)
    expect([page.status, page.text]).toEqual([
      404,
      '404 Not found There is no such object, or it is gone. Go to the overview',
    ])
  })
})
