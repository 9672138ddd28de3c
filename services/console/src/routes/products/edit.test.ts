import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestConsole, type TestConsole } from '../../../test/console-app.ts'
import { callInventory, createProduct } from '../../../test/inventory.ts'
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
    expect([page.status, page.html.includes('<span>MUG-1 is created</span>'), await textOf(id)]).toEqual([
      200,
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

  it('403: shows no form to a role that may not', async () => {
    const page = await (await test.signedIn('support')).open('/products/new')
    expect([page.status, page.text]).toEqual([403, '403 Not allowed Your role may not do this. Go to the overview'])
  })

  it('422: is refused by inventory when such a role posts', async () => {
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

describe('POST /products/:productId/edit', () => {
  it('303: saves the fields of a form and leaves what was not touched as it is', async () => {
    const id = await createProduct(
      inventory,
      'MUG-2',
      '{"size":12345678901234567890,"text":"5","lines":"a\\nb","old":1}',
    )
    const browser = await test.signedIn('admin')
    const form = await browser.open(`/products/${id}/edit`)
    const shown = [...form.html.matchAll(/<input name="(name|value)" value="([^"]*)"/g)].map(
      ([, name = '', value = '']) => [name, value.replaceAll('&quot;', '"')] as const,
    )
    const at = shown.findIndex(([, value]) => value === 'old')
    const page = await browser.submit(`/products/${id}/edit`, [
      ['sku', 'MUG-2B'],
      ...shown.map(([name, value], place) => [name, place === at + 1 ? '' : value] as const),
    ])
    expect([page.status, await textOf(id)]).toEqual([
      200,
      `{"statusCode":200,"data":{"id":${id},"sku":"MUG-2B","attributes":{"size": 12345678901234567890, "text": "5", "lines": "a\\nb"}}}`,
    ])
  })

  it('422: does not overwrite a product that was changed meanwhile', async () => {
    const id = await createProduct(inventory, 'MUG-3', '{"a":1}')
    const browser = await test.signedIn('admin')
    await browser.open(`/products/${id}/edit?as=json`)
    await callInventory(inventory, `/products/${id}`, { attributes: { b: 2 } }, 'PATCH')
    const page = await browser.submit(`/products/${id}/edit`, { sku: 'MUG-3', attributes: '{"a":2}' })
    expect([page.status, problemOf(page.html), await textOf(id)]).toEqual([
      422,
      'The product has another version by now.',
      `{"statusCode":200,"data":{"id":${id},"sku":"MUG-3","attributes":{"a": 1, "b": 2}}}`,
    ])
  })

  it('200: edits attributes that are no object as JSON alone', async () => {
    const id = await createProduct(inventory, 'LIST', '[1.0,"<b>"]')
    const page = await (await test.signedIn('admin')).open(`/products/${id}/edit`)
    expect(page.text).toBe(
      'LIST Edit LIST Product SKU Attributes [ 1.0, "<b>" ] JSON. Numbers keep every digit. Save Cancel',
    )
  })
})

describe('POST /products/:productId/deletion', () => {
  it('303: deletes after a question that names what will happen', async () => {
    const id = await createProduct(inventory, 'GONE')
    const browser = await test.signedIn('admin')
    expect((await browser.open(`/products/${id}`)).html).toContain(`href="/products/${id}/deletion" data-ask`)
    expect((await browser.open(`/products/${id}/deletion`)).text).toBe(
      'Delete GONE GONE leaves the list, exports and the API, and its SKU becomes free. Its movements stay in the ledger. A product with stock or an active reservation is not deleted. This cannot be undone. Delete Cancel',
    )
    const page = await browser.submit(`/products/${id}/deletion`)
    expect([page.status, page.path, page.html.includes('<span>GONE is deleted</span>')]).toEqual([
      200,
      '/products',
      true,
    ])
    expect((await browser.open(`/products/${id}`)).status).toBe(404)
  })

  it('422: says that there is still stock', async () => {
    const id = await createProduct(inventory, 'KEPT')
    await callInventory(inventory, '/movements', { type: 'receive', productId: id, locationId: 1, quantity: 1 })
    const browser = await test.signedIn('admin')
    await browser.open(`/products/${id}/deletion`)
    const page = await browser.submit(`/products/${id}/deletion`)
    expect([page.status, problemOf(page.html)]).toEqual([422, 'There is still stock of this product.'])
  })
})

describe('GET /products/:productId/history', () => {
  it('200: lists who has changed what, the newest first', async () => {
    const browser = await test.signedIn('admin')
    await browser.open('/products/new?as=json')
    const made = await browser.submit('/products/new', { sku: 'MUG-4', attributes: '{"a":1.50}' })
    await browser.open(`${made.path}/edit?as=json`)
    await browser.submit(`${made.path}/edit`, { sku: 'MUG-4', attributes: '{"a":2.50}' })
    const page = await browser.open(`${made.path}/history`)
    const known = page.text
      .replaceAll(/admin-[0-9a-f-]{36}@example\.com/g, 'EMAIL')
      .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/g, 'TIME')
    expect([page.status, known]).toEqual([
      200,
      'MUG-4 History of MUG-4 Change By At ↓ Details Changed to version 2 EMAIL admin TIME Show { "sku": "MUG-4", "attributes": "{\\"a\\":2.50}", "mode": "replace", "version": 2 } Created EMAIL admin TIME Show { "sku": "MUG-4", "attributes": "{\\"a\\":1.50}" }',
    ])
  })
})
