import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestConsole, type TestConsole } from '../../../test/console-app.ts'
import { callInventory, createProduct } from '../../../test/inventory.ts'
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
    expect([page.firstStatus, await textOf(id)]).toEqual([
      303,
      `{"statusCode":200,"data":{"id":${id},"sku":"MUG-2B","attributes":{"size": 12345678901234567890, "text": "5", "lines": "a\\nb"}}}`,
    ])
  })

  it('503: says that the answer to a change was lost, and a retry finds the version that it made', async () => {
    const id = await createProduct(inventory, 'LOST', '{"a":1}')
    const lossy = await openLossyConsole(auth, inventory, await test.signedIn('admin'))
    const { browser } = lossy
    await browser.open(`/products/${id}/edit?as=json`)
    lossy.loseAnswers(true)
    const lost = await browser.submit(`/products/${id}/edit`, { sku: 'LOST', attributes: '{"a":2}' })
    expect([lost.status, lost.text]).toEqual([503, expect.stringContaining('The service has not answered')])
    lossy.loseAnswers(false)
    const page = await browser.submit(`/products/${id}/edit`, { sku: 'LOST', attributes: '{"a":2}' })
    expect([page.status, problemOf(page.html), await textOf(id)]).toEqual([
      422,
      'The product was changed in the meantime.',
      `{"statusCode":200,"data":{"id":${id},"sku":"LOST","attributes":{"a": 2}}}`,
    ])
    await lossy.close()
  })

  it('422: does not overwrite a product that was changed meanwhile', async () => {
    const id = await createProduct(inventory, 'MUG-3', '{"a":1}')
    const browser = await test.signedIn('admin')
    await browser.open(`/products/${id}/edit?as=json`)
    await callInventory(inventory, `/products/${id}`, { attributes: { b: 2 } }, 'PATCH')
    const page = await browser.submit(`/products/${id}/edit`, { sku: 'MUG-3', attributes: '{"a":2}' })
    expect([page.status, problemOf(page.html), await textOf(id)]).toEqual([
      422,
      'The product was changed in the meantime.',
      `{"statusCode":200,"data":{"id":${id},"sku":"MUG-3","attributes":{"a": 1, "b": 2}}}`,
    ])
  })

  it('200: edits attributes that are no object as JSON alone', async () => {
    const id = await createProduct(inventory, 'LIST', '[1.0,"<b>"]')
    const page = await (await test.signedIn('admin')).open(`/products/${id}/edit`)
    expect([page.status, page.text]).toEqual([
      200,
      'LIST Edit LIST Product SKU Attributes [ 1.0, "<b>" ] JSON. Numbers keep every digit. Save Cancel',
    ])
  })
})
