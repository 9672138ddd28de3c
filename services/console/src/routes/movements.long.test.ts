import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { callInventory, createProduct } from '../../test/inventory.ts'
import { openLossyConsole } from '../../test/lost-answers.ts'
import { openStockedConsole, type StockedConsole } from '../../test/stocked-console.ts'

let close: StockedConsole['close']
let test: StockedConsole['test']
let auth: StockedConsole['auth']
let inventory: StockedConsole['inventory']
let mug: StockedConsole['mug']
let shelf: StockedConsole['shelf']
beforeAll(async () => {
  ;({ test, auth, inventory, mug, shelf, close } = await openStockedConsole())
})
afterAll(() => close())

const Stock = z.object({ data: z.object({ locations: z.array(z.object({ locationId: z.int(), onHand: z.int() })) }) })
/** Returns the on-hand quantity of a product at each location, by location id. */
async function levelsOf(productId: number) {
  const { data } = Stock.parse(await callInventory(inventory, `/stock/${productId}`))
  return data.locations.map(({ locationId, onHand }) => [locationId, onHand])
}

const textOf = (text: string) => text.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/g, 'TIME')
const problemOf = (html: string) => /role="alert">([^<]*)</.exec(html)?.[1]

describe('GET /movements', () => {
  it('200: lists the ledger of a product', async () => {
    const page = await (await test.signedIn('viewer')).open(`/movements?product=${mug}&search=PO-1`)
    expect(page.status).toBe(200)
    const [, rows] = page.text.split(`Product ${mug} Filter `)
    expect(textOf(rows ?? '')).toBe(
      'SKU Type On hand Reserved After Location Reason and reference At MUG receive +1,200 0 1,200 SHELF PO-1 TIME',
    )
  })
})

describe('POST /movements', () => {
  it('303: receives once although the form is sent twice', async () => {
    const id = await createProduct(inventory, 'ONCE')
    const browser = await test.signedIn('support')
    const form = await browser.open(`/movements/new?type=receive&sku=ONCE&location=${shelf}`)
    expect(/On hand \S+ Reserved \S+ Available \S+/.exec(form.text)?.[0]).toBe('On hand 0 Reserved 0 Available 0')
    const [, key = ''] = /name="_key" value="([^"]*)"/.exec(form.html.split('action="/movements"')[1] ?? '') ?? []
    const page = await browser.submit('/movements', { quantity: '5', reason: 'delivery' })
    expect([page.firstStatus, page.path, page.html.includes('<span>Receive of ONCE is recorded</span>')]).toEqual([
      303,
      `/products/${id}`,
      true,
    ])
    await browser.open(`/movements/new?type=receive&product=${id}&location=${shelf}`)
    // The form now shows the new quantity on hand. Send the first form again unchanged.
    await browser.submit('/movements', { quantity: '5', reason: 'delivery', _key: key })
    expect(await levelsOf(id)).toEqual([[shelf, 5]])
  })

  it('503: offers a count again whose answer was lost, as it was sent, so that it is made once', async () => {
    const id = await createProduct(inventory, 'LOST')
    await callInventory(inventory, '/movements', { type: 'receive', productId: id, locationId: shelf, quantity: 2 })
    const lossy = await openLossyConsole(auth, inventory, await test.signedIn('support'))
    const { browser } = lossy
    await browser.open(`/movements/new?type=count&product=${id}&location=${shelf}`)
    lossy.loseAnswers(true)
    const lost = await browser.submit('/movements', { quantity: '9' })
    expect([lost.status, problemOf(lost.html), lost.html.includes('name="expectedOnHand" value="2"')]).toEqual([
      503,
      'The service has not answered, so the outcome is unknown. Press the button again: the change is made at most once.',
      true,
    ])
    lossy.loseAnswers(false)
    const page = await browser.submit('/movements', { quantity: '9' })
    expect([page.path, page.html.includes('<span>Count of LOST is recorded</span>')]).toEqual([`/products/${id}`, true])
    const { text } = await browser.open(`/movements?product=${id}`)
    expect(text.match(/LOST (?:receive|count) [+-]\d+/g)).toEqual(['LOST count +7', 'LOST receive +2'])
    await lossy.close()
  })

  it('422: refuses a count of stock that has moved since the form was opened', async () => {
    const id = await createProduct(inventory, 'COUNTED')
    const browser = await test.signedIn('support')
    await browser.open(`/movements/new?type=count&product=${id}&location=${shelf}`)
    await callInventory(inventory, '/movements', { type: 'receive', productId: id, locationId: shelf, quantity: 2 })
    const page = await browser.submit('/movements', { quantity: '9' })
    expect([page.status, problemOf(page.html), page.html.includes('name="expectedOnHand" value="2"')]).toEqual([
      422,
      'The quantity on hand is not the expected one.',
      true,
    ])
  })

  it('303: transfers to another location', async () => {
    const id = await createProduct(inventory, 'CARRIED')
    await callInventory(inventory, '/movements', { type: 'receive', productId: id, locationId: shelf, quantity: 2 })
    const browser = await test.signedIn('support')
    await browser.open(`/movements/new?type=transfer&product=${id}&location=${shelf}`)
    const page = await browser.submit('/movements', { quantity: '2', to: '1' })
    expect(page.firstStatus).toBe(303)
    expect(await levelsOf(id)).toEqual([
      [1, 2],
      [shelf, 0],
    ])
  })

  it('303: lets an admin adjust by a difference', async () => {
    const browser = await test.signedIn('admin')
    await browser.open(`/movements/new?type=adjust&product=${mug}&location=${shelf}`)
    const page = await browser.submit('/movements', { quantity: '-200', reason: 'broken' })
    expect(page.firstStatus).toBe(303)
    expect(await levelsOf(mug)).toEqual([[shelf, 1000]])
  })

  it('422: keeps what was typed when there is too little stock', async () => {
    const browser = await test.signedIn('admin')
    await browser.open(`/movements/new?type=ship&product=${mug}&location=1`)
    const page = await browser.submit('/movements', { quantity: '7', reference: 'order-1' })
    expect([page.status, problemOf(page.html), page.html.includes('value="order-1"')]).toEqual([
      422,
      'There is not enough stock available.',
      true,
    ])
  })

  it('422: shows what inventory says of a quantity that is no integer', async () => {
    const browser = await test.signedIn('support')
    await browser.open(`/movements/new?type=receive&product=${mug}&location=${shelf}`)
    const page = await browser.submit('/movements', { quantity: '0x10' })
    expect([page.status, problemOf(page.html), page.html.includes('value="0x10"')]).toEqual([
      422,
      'quantity: must be a whole number',
      true,
    ])
  })

  it('422: shows the refusal of inventory to a role without the right that posts the form', async () => {
    const browser = await test.signedIn('support')
    await browser.open(`/movements/new?type=receive&product=${mug}&location=${shelf}`)
    const page = await browser.submit('/movements', { type: 'ship', quantity: '1' })
    expect([page.status, problemOf(page.html)]).toEqual([422, 'The role of the operator may not do this.'])
  })
})
