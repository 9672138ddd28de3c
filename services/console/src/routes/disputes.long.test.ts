import { removeFoldersAtEnd } from '@trestle/testing/temporary-folder.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TestBrowser } from '../../test/browser.ts'
import { openTestConsole, type TestConsole } from '../../test/console-app.ts'
import { type RunningService, startService } from '../../test/services.ts'
import { idOf, SHOP_ID, seedTransactions } from '../../test/transactions.ts'

removeFoldersAtEnd()
let services: readonly [RunningService, RunningService]
let test: TestConsole
beforeAll(async () => {
  services = await Promise.all([startService('auth'), startService('payments')])
  test = await openTestConsole(services)
  await seedTransactions(services[1], [10_000, 10_000], { capture: 8_000 })
  await services[1].command('disputes', 'open', idOf(1), '--amount', '5000', '--reason', '131')
})
afterAll(async () => {
  await test.close()
  for (const service of services) await service.stop()
})

const plain = (text: string) =>
  text.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/g, 'TIME').replaceAll(/\b[0-9a-f]{24}\b/g, 'ID')
const toastOf = (html: string) => /<div class="toast">.*?<span>([^<]*)<\/span>/.exec(html)?.[1]

const FILTERS = 'Id of a merchant State All states Open Won Lost Filter'

describe('GET /disputes', () => {
  it('200: lists disputes by state and merchant, and leads to their pages', async () => {
    const browser = await test.signedIn('viewer')
    const page = await browser.open(`/disputes?status=open&merchant=${SHOP_ID}`)
    expect(page.status).toBe(200)
    expect(plain(page.text)).toBe(
      `Disputes Disputes Fraud alerts ${FILTERS} Amount State Reason Due Merchant Created ↓ EUR 50.00 open Not received TIME ID TIME CSV`,
    )
    expect(page.html).toMatch(/<a class="main-link figure" href="\/disputes\/[0-9a-f]{24}">EUR 50\.00<\/a>/)
    const won = await browser.open('/disputes?status=won')
    expect([won.status, won.text]).toEqual([
      200,
      `Disputes Disputes Fraud alerts ${FILTERS} No dispute matches. Clear the filters`,
    ])
  })

  it('200: gives the rows as CSV', async () => {
    const page = await (await test.signedIn('viewer')).open('/disputes?format=csv')
    expect([page.status, page.headers['content-disposition'], page.html.split('\r\n')[1]]).toEqual([
      200,
      'attachment; filename="disputes.csv"',
      expect.stringContaining(idOf(1)),
    ])
  })
})

/** Returns the path of the only dispute in the list. */
const pathOf = async (browser: TestBrowser) => {
  const { html } = await browser.open('/disputes')
  return /class="main-link figure" href="(\/disputes\/[^"]+)"/.exec(html)?.[1] ?? ''
}
const NOT_FOUND = '404 Not found There is no such object, or it is gone. Go to the overview'

describe('GET /disputes/:disputeId', () => {
  it('200: shows a viewer the dispute and its payment, and who may record the outcome', async () => {
    const browser = await test.signedIn('viewer')
    const path = await pathOf(browser)
    const page = await browser.open(path)
    expect([page.status, plain(page.text)]).toEqual([
      200,
      'Disputes EUR 50.00 open Nordhavn <b>Coffee</b> ID TIME Your role viewer may not use “Outcome”; admin may. ' +
        'Dispute Reason Not received (131) Due TIME Money kept from the balance of Nordhavn <b>Coffee</b> until the dispute is decided ' +
        'Payment Amount EUR 100.00 State Disputed Test Card Visa •••• 0000 Created TIME Id ID',
    ])
    expect(page.html).toContain(`<button type="button" class="copy" data-copy="${path.slice('/disputes/'.length)}"`)
    expect(page.html).toContain(`href="/merchants/${SHOP_ID}"`)
    expect(page.html).toContain(`href="/transactions/${idOf(1)}"`)
    expect(page.html).not.toContain(`${path}/outcome`)
  })

  it('200: is where the search for its id leads', async () => {
    const browser = await test.signedIn('viewer')
    const path = await pathOf(browser)
    const page = await browser.open(`/search?q=${path.slice('/disputes/'.length)}`)
    expect([page.status, plain(page.text)]).toEqual([
      200,
      'Results for “ID” Payments EUR 50.00 Not received ID dispute',
    ])
    expect(page.html).toContain(`<a class="main-link" href="${path}">`)
  })

  it.each(['0'.repeat(24), 'x'])('404: shows an error page for the id %s, which no dispute has', async (id) => {
    const page = await (await test.signedIn('viewer')).open(`/disputes/${id}`)
    expect([page.status, page.text]).toEqual([404, NOT_FOUND])
  })
})

describe('POST /disputes/:disputeId/:change', () => {
  it('403: asks no role but admin for the outcome', async () => {
    const browser = await test.signedIn('support')
    const page = await browser.open(`${await pathOf(browser)}/outcome`)
    expect([page.status, page.text]).toEqual([
      403,
      '403 Not allowed Your role support may not do this; admin may. Go to the overview',
    ])
  })

  it('404: asks for no outcome of an unknown dispute', async () => {
    const page = await (await test.signedIn('admin')).open(`/disputes/${'0'.repeat(24)}/outcome`)
    expect([page.status, page.text]).toEqual([404, NOT_FOUND])
  })

  it('303: lets an admin record the outcome from the list, after a question that names what will happen', async () => {
    const browser = await test.signedIn('admin')
    const path = await pathOf(browser)
    expect(browser.page().html).toContain(`href="${path}/outcome" data-ask`)
    expect((await browser.open(`${path}/outcome`)).text).toBe(
      'Outcome of the dispute of EUR 50.00 Won: Nordhavn <b>Coffee</b> keeps the money. Lost: it goes back to Visa •••• 0000. This cannot be undone. Outcome Choose… won: the money stays with the merchant lost: the money goes to the customer Record the outcome Cancel',
    )
    const page = await browser.submit(`${path}/outcome`, { outcome: 'won' })
    expect([page.firstStatus, page.path, toastOf(page.html)]).toEqual([303, path, 'The dispute is won'])
    expect(plain(page.text)).toMatch(
      /^Disputes EUR 50\.00 won Nordhavn <b>Coffee<\/b> ID TIME Dispute Reason Not received \(131\) Decided TIME Money stays with Nordhavn <b>Coffee<\/b> Payment /,
    )
  })
})
