import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestConsole, type TestConsole } from '../../test/console-app.ts'
import { callInventory, createLocation, createProduct } from '../../test/inventory.ts'
import { type RunningService, startService } from '../../test/services.ts'

let auth: RunningService
let inventory: RunningService
let test: TestConsole
let mug: number
const XSS = '<img src=x onerror=alert(1)>'
beforeAll(async () => {
  ;[auth, inventory] = await Promise.all([startService('auth'), startService('inventory')])
  test = await openTestConsole([auth, inventory])
  mug = await createProduct(
    inventory,
    'MUG-BLUE',
    '{"colour":"blue","price":18.50,"serial":12345678901234567890,"tags":["new"]}',
  )
  await createProduct(inventory, XSS, JSON.stringify({ [XSS]: XSS }))
  for (let n = 1; n <= 25; n += 1) await createProduct(inventory, `TEA-${n}`)
  const shelf = await createLocation(inventory, 'SHELF')
  await callInventory(inventory, '/movements', { type: 'receive', productId: mug, locationId: shelf, quantity: 1200 })
  await callInventory(inventory, '/reservations', { productId: mug, locationId: shelf, quantity: 200 })
})
afterAll(async () => {
  await test.close()
  for (const service of [auth, inventory]) await service.stop()
})

const skusOf = (html: string) =>
  [...html.matchAll(/<a class="main-link" href="[^"]*">([^<]*)<\/a>/g)].map(([, sku]) => sku)
const withoutTimes = (text: string) => text.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/g, 'TIME')

describe('GET /products', () => {
  it('200: lists the newest first with a way to older ones', async () => {
    const browser = await test.signedIn('viewer')
    const first = await browser.open('/products')
    expect(first.status).toBe(200)
    expect(skusOf(first.html)).toEqual(Array.from({ length: 25 }, (_, index) => `TEA-${25 - index}`))
    const [, next = ''] = /<a class="button" href="([^"]+)" rel="next" data-next>/.exec(first.html) ?? []
    const second = await browser.open(next.replaceAll('&amp;', '&'))
    expect([second.status, skusOf(second.html)]).toEqual([200, ['&lt;img src=x onerror=alert(1)&gt;', 'MUG-BLUE']])
  })

  it('200: finds by the beginning of a SKU with what is in stock', async () => {
    const page = await (await test.signedIn('viewer')).open('/products?search=mug-b')
    expect(page.status).toBe(200)
    expect(withoutTimes(page.text)).toBe(
      'Products SKU, or words of attributes Filter SKU Attributes Available On hand Created ↓ MUG-BLUE tags: ["new"] · price: 18.50 · colour: blue 1,000 1,200 TIME',
    )
  })

  it('200: lists the oldest first when the order is turned round', async () => {
    const page = await (await test.signedIn('viewer')).open('/products?order=asc')
    expect([page.status, skusOf(page.html).slice(0, 2)]).toEqual([
      200,
      ['MUG-BLUE', '&lt;img src=x onerror=alert(1)&gt;'],
    ])
  })

  it('200: says when nothing is found', async () => {
    const page = await (await test.signedIn('viewer')).open('/products?search=nothing')
    const text = 'Products SKU, or words of attributes Filter No product matches. Clear the filters'
    expect([page.status, page.text]).toEqual([200, text])
  })

  it('200: offers a new product to the role admin alone', async () => {
    const offers = await Promise.all(
      (['viewer', 'support', 'admin'] as const).map(async (role) => {
        const { status, html } = await (await test.signedIn(role)).open('/products')
        return [status, html.includes('href="/products/new"')]
      }),
    )
    expect(offers).toEqual([
      [200, false],
      [200, false],
      [200, true],
    ])
  })
})

describe('GET /products/:productId', () => {
  it('200: shows attributes with every digit and the stock at each location', async () => {
    const page = await (await test.signedIn('viewer')).open(`/products/${mug}`)
    expect([page.status, withoutTimes(page.text)]).toEqual([
      200,
      `Products MUG-BLUE id ${mug} version 1 created TIME changed TIME Attributes tags ["new"] price 18.50 colour blue serial 12345678901234567890 As JSON { "tags": [ "new" ], "price": 18.50, "colour": "blue", "serial": 12345678901234567890 } Stock Movements Available 1,000 On hand 1,200 Reserved 200 Location Available On hand Reserved SHELF 1,000 1,200 200 Your role viewer may not count or move stock; support and admin may. History No operator has changed this product or its stock.`,
    ])
  })

  // ASVS 1.2.1, 3.2.2
  it('200: escapes names and values of attributes', async () => {
    const browser = await test.signedIn('admin')
    const list = await browser.open('/products?order=asc')
    const path = [...list.html.matchAll(/href="(\/products\/\d+)"/g)][1]?.[1] ?? ''
    for (const page of [await browser.open(path), await browser.open(`${path}/edit`)]) {
      expect([page.status, page.html.includes('<img')]).toEqual([200, false])
    }
  })

  it('404: shows an error page for an unknown product', async () => {
    const page = await (await test.signedIn('viewer')).open('/products/999')
    expect([page.status, page.text]).toEqual([
      404,
      '404 Not found There is no such object, or it is gone. Go to the overview',
    ])
  })

  it('400: refuses a malformed id', async () => {
    const page = await (await test.signedIn('viewer')).open('/products/mug')
    expect([page.status, page.text]).toEqual([
      400,
      '400 Not valid A value of the form or the address is not valid. Go to the overview',
    ])
  })
})

describe('the pages of inventory', () => {
  it('503: say that inventory does not answer, while the others work', async () => {
    const other = await openTestConsole([auth, { name: 'inventory', url: 'http://127.0.0.1:1' }])
    const browser = other.browser()
    for (const [name, value] of (await test.signedIn('viewer')).cookies) browser.cookies.set(name, value)
    const page = await browser.open('/products')
    expect([page.status, page.text]).toEqual([
      503,
      '503 Not available Inventory does not answer. Its pages work again as soon as it does. Go to the overview',
    ])
    expect((await browser.open('/')).status).toBe(200)
    await other.close()
  })
})
