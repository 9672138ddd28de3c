import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestConsole, type TestConsole } from '../../../test/console-app.ts'
import { createProduct } from '../../../test/inventory.ts'
import { openLossyConsole } from '../../../test/lost-answers.ts'
import { type RunningService, startService } from '../../../test/services.ts'

let auth: RunningService
let inventory: RunningService
let test: TestConsole
beforeAll(async () => {
  ;[auth, inventory] = await Promise.all([startService('auth'), startService('inventory')])
  test = await openTestConsole([auth, inventory])
})
afterAll(async () => {
  await test.close()
  for (const service of [auth, inventory]) await service.stop()
})

const textOf = async (id: number) => (await fetch(`${inventory.url}/products/${id}`)).text()
const problemOf = (html: string) => /role="alert">([^<]*)</.exec(html)?.[1]

describe('POST /products/new', () => {
  it('503: offers a product again whose answer was lost, under the same key, so that it is made once', async () => {
    const lossy = await openLossyConsole(auth, inventory, await test.signedIn('admin'))
    const { browser } = lossy
    await browser.open('/products/new?as=json')
    lossy.loseAnswers(true)
    const lost = await browser.submit('/products/new', { sku: 'ONCE', attributes: '{}' })
    expect([lost.status, lost.text]).toEqual([503, expect.stringContaining('The service has not answered')])
    lossy.loseAnswers(false)
    const page = await browser.submit('/products/new', { sku: 'ONCE', attributes: '{}' })
    expect([page.status, page.path]).toEqual([200, expect.stringMatching(/^\/products\/\d+$/)])
    await lossy.close()
  })

  it('303: makes a product of names and values, each digit kept', async () => {
    const browser = await test.signedIn('admin')
    await browser.open('/products/new')
    const page = await browser.submit('/products/new', [
      ['sku', 'MUG-1'],
      ['name', 'colour'],
      ['value', 'blue'],
      ['name', 'price'],
      ['value', '0.10'],
      ['name', 'code'],
      ['value', '"42"'],
      ['name', ''],
      ['value', ''],
    ])
    const id = Number(page.path.split('/').at(-1))
    expect([page.firstStatus, page.html.includes('<span>MUG-1 is created</span>'), await textOf(id)]).toEqual([
      303,
      true,
      `{"statusCode":200,"data":{"id":${id},"sku":"MUG-1","attributes":{"code": "42", "price": 0.10, "colour": "blue"}}}`,
    ])
  })

  it('422: keeps what was typed when the SKU is taken', async () => {
    await createProduct(inventory, 'TAKEN')
    const browser = await test.signedIn('admin')
    await browser.open('/products/new?as=json')
    const page = await browser.submit('/products/new', { sku: 'TAKEN', attributes: '{"a":1.0}' })
    expect([page.status, problemOf(page.html), page.html.includes('{&quot;a&quot;:1.0}</textarea>')]).toEqual([
      422,
      'A product with this sku already exists.',
      true,
    ])
  })

  it('422: refuses a name that is there twice', async () => {
    const browser = await test.signedIn('admin')
    await browser.open('/products/new')
    const fields = ['a', 'a'].flatMap((name) => [['name', name] as const, ['value', '1'] as const])
    const page = await browser.submit('/products/new', [['sku', 'TWICE'], ...fields])
    expect([page.status, problemOf(page.html)]).toEqual([422, 'The name a is there twice'])
  })

  it('422: refuses a value without a name', async () => {
    const browser = await test.signedIn('admin')
    await browser.open('/products/new')
    const page = await browser.submit('/products/new', { sku: 'NAMELESS', name: '', value: '1' })
    expect([page.status, problemOf(page.html)]).toEqual([422, 'A value has no name'])
  })

  it('422: shows what inventory says of JSON that is none', async () => {
    const browser = await test.signedIn('admin')
    await browser.open('/products/new?as=json')
    const page = await browser.submit('/products/new', { sku: 'BROKEN', attributes: '{' })
    expect([page.status, problemOf(page.html)]).toEqual([422, 'attributes: must be JSON'])
  })

  it('403: shows no form to a role without the right', async () => {
    const page = await (await test.signedIn('support')).open('/products/new')
    expect([page.status, page.text]).toEqual([
      403,
      '403 Not allowed Your role support may not do this; admin may. Go to the overview',
    ])
  })

  it('422: shows the refusal of inventory to a role without the right that posts the form', async () => {
    const browser = await test.signedIn('admin')
    await browser.open('/products/new')
    const support = await test.signedIn('support')
    await support.open('/products')
    const [, csrf = ''] = /name="_csrf" value="([^"]*)"/.exec(support.page().html) ?? []
    const page = await support.post('/products/new', {
      _csrf: csrf,
      _key: 'k',
      sku: 'MINE',
      as: 'json',
      attributes: '{}',
    })
    expect([page.status, problemOf(page.html)]).toEqual([422, 'The role of the operator may not do this.'])
  })
})
