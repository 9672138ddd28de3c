import { removeFoldersAtEnd } from '@trestle/testing/temporary-folder.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestConsole, type TestConsole } from '../../test/console-app.ts'
import { createProduct } from '../../test/inventory.ts'
import { createUser, type RunningService, startService } from '../../test/services.ts'
import { idOf, seedTransactions } from '../../test/transactions.ts'

removeFoldersAtEnd()
let services: readonly [RunningService, RunningService, RunningService]
let test: TestConsole
beforeAll(async () => {
  services = await Promise.all([startService('auth'), startService('payments'), startService('inventory')])
  test = await openTestConsole(services)
  await seedTransactions(services[1], [1_250])
})
afterAll(async () => {
  await test.close()
  for (const service of services) await service.stop()
})

describe('GET /search', () => {
  it('200: finds users, merchants, transactions and products, each with the way to its page', async () => {
    const { id, email } = await createUser(services[0], 'nordhavn-owner@example.com')
    const mug = await createProduct(services[2], 'nordhavn-mug')
    const browser = await test.signedIn('viewer')
    const page = await browser.open('/search?q=nordhavn')
    expect(page.text.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{24}/g, 'ID')).toBe(
      `Results for “nordhavn” Users ${email} ID user Payments Nordhavn <b>Coffee</b> ID merchant Products nordhavn-mug ${mug} product`,
    )
    expect(page.html).toContain(`href="/users/${id}"`)
    expect(page.html).toContain(`href="/products/${mug}"`)
    const amount = await browser.open('/search?q=12.50')
    expect(amount.html).toContain(`href="/transactions/${idOf(1)}"`)
  })

  it('200: says when nothing is found, and how things are found, with the text in the field', async () => {
    const page = await (await test.signedIn('viewer')).open(`/search?${new URLSearchParams({ q: '<b>"x' })}`)
    expect(page.text).toBe(
      'Results for “<b>"x” Nothing is like that. Names, emails and SKUs are found by how they begin, all else by its whole value.',
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
