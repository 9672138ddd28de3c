import { removeFoldersAtEnd } from '@trestle/testing/temporary-folder.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestConsole, type TestConsole } from '../../test/console-app.ts'
import { createProduct } from '../../test/inventory.ts'
import { createMerchant } from '../../test/merchants.ts'
import { createUser, type RunningService, startService } from '../../test/services.ts'
import { idOf, seedTransactions } from '../../test/transactions.ts'

removeFoldersAtEnd()
let services: readonly [RunningService, RunningService, RunningService]
let test: TestConsole
beforeAll(async () => {
  services = await Promise.all([startService('auth'), startService('payments'), startService('inventory')])
  test = await openTestConsole(services)
  await seedTransactions(services[1], [1_250, ...Array<number>(100).fill(9_900)])
})
afterAll(async () => {
  await test.close()
  for (const service of services) await service.stop()
})

const plain = (text: string) =>
  text.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/g, 'TIME').replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{24}/g, 'ID')

describe('GET /search', () => {
  it('200: finds users, merchants, transactions and products, each with the way to its page', async () => {
    const { id, email } = await createUser(services[0], 'nordhavn-owner@example.com')
    const mug = await createProduct(services[2], 'nordhavn-mug')
    const browser = await test.signedIn('viewer')
    const page = await browser.open('/search?q=nordhavn')
    expect(page.status).toBe(200)
    expect(plain(page.text)).toBe(
      `Results for “nordhavn” Users ${email} ID TIME user Payments Nordhavn <b>Coffee</b> ID merchant Products nordhavn-mug ${mug} product`,
    )
    expect(page.html).toContain(`href="/users/${id}"`)
    expect(page.html).toContain(`href="/products/${mug}"`)
    const amount = await browser.open('/search?q=12.50')
    expect(amount.status).toBe(200)
    expect(amount.html).toContain(`href="/transactions/${idOf(1)}"`)
    expect(plain(amount.text)).toBe(
      'Results for “12.50” Payments EUR 12.50 Visa •••• 0000 ID TIME Authorized Test transaction',
    )
  })

  it('200: finds an app by its id, with the way to the row that tells the id', async () => {
    const { appId } = await createMerchant(services[1], 'Corner')
    const browser = await test.signedIn('viewer')
    const page = await browser.open(`/search?q=${appId}`)
    expect([page.status, plain(page.text)]).toEqual([
      200,
      expect.stringMatching(/^Results for “ID” Payments .+ ID app$/),
    ])
    const [, path = ''] = /<a class="main-link" href="([^"]+)"/.exec(page.html) ?? []
    expect([path, (await browser.open(path)).html]).toEqual([
      `/apps?search=${appId}`,
      expect.stringContaining(`data-copy="${appId}"`),
    ])
  })

  it('200: finds a product by its SKU in any case, and by words of its name', async () => {
    const id = await createProduct(services[2], 'GRINDER-HAND', '{"name":"Hand grinder, steel"}')
    const browser = await test.signedIn('viewer')
    for (const search of ['grinder-h', 'Hand grinder', 'steel']) {
      const page = await browser.open(`/search?${new URLSearchParams({ q: search })}`)
      expect([page.status, page.text]).toEqual([200, `Results for “${search}” Products GRINDER-HAND ${id} product`])
    }
  })

  it('200: finds a payment by the last four digits of its card with its amount, behind a hundred newer ones', async () => {
    const page = await (await test.signedIn('viewer')).open('/search?q=0000+12.50')
    expect([page.status, plain(page.text)]).toEqual([
      200,
      'Results for “0000 12.50” Payments EUR 12.50 Visa •••• 0000 ID TIME Authorized Test transaction',
    ])
  })

  it('200: shows the newest payments, and leads to the list that has the others', async () => {
    const browser = await test.signedIn('viewer')
    const all = await browser.open('/search?q=0000')
    expect([all.status, all.text.split('transaction').length - 1, all.text.split(' ').slice(-6).join(' ')]).toEqual([
      200,
      20,
      '20 shown, more in the list',
    ])
    expect(all.html).toContain('<a href="/transactions?search=0000">20 shown, more in the list</a>')
    const both = await browser.open('/search?q=0000+99.00')
    expect([both.status, both.text.split('transaction').length - 1, both.text.split(' ').slice(-6).join(' ')]).toEqual([
      200,
      20,
      '20 shown, more in the list',
    ])
  })

  it('200: says when nothing is found, and how things are found, with the text in the field', async () => {
    const page = await (await test.signedIn('viewer')).open(`/search?${new URLSearchParams({ q: '<b>"x' })}`)
    expect(page.status).toBe(200)
    expect(page.text).toBe(
      'Results for “<b>"x” Nothing matches. Names and emails are found by how they begin, products by their SKU and by words of their attributes, all else by its whole value.',
    )
    expect(page.html).toContain('name="q" type="search" value="&lt;b&gt;&quot;x"')
  })

  it('200: says which service does not answer, and shows what the others find', async () => {
    const other = await openTestConsole([services[0], { name: 'payments', url: 'http://127.0.0.1:9' }])
    const browser = other.browser()
    for (const [name, value] of (await test.signedIn('viewer')).cookies) browser.cookies.set(name, value)
    const page = await browser.open('/search?q=viewer-')
    expect([page.status, page.text]).toEqual([
      200,
      expect.stringMatching(
        /^Results for “viewer-” Users .* Payments Payments does not answer, so nothing of it is found here now\.$/,
      ),
    ])
    await other.close()
  })
})
