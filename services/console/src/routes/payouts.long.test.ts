import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TestBrowser } from '../../test/browser.ts'
import { openTestConsole, type TestConsole } from '../../test/console-app.ts'
import { createPayableMerchant } from '../../test/merchants.ts'
import { type RunningService, startService } from '../../test/services.ts'

let services: readonly [RunningService, RunningService]
let test: TestConsole
let merchantId: string
beforeAll(async () => {
  services = await Promise.all([startService('auth'), startService('payments')])
  test = await openTestConsole(services)
  merchantId = await createPayableMerchant(services[1], 'EUR')
  await services[1].command('payouts', 'run')
})
afterAll(async () => {
  await test.close()
  for (const service of services) await service.stop()
})

const plain = (text: string) =>
  text.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/g, 'TIME').replaceAll(/\b[0-9a-f]{24}\b/g, 'ID')
const toastOf = (html: string) => /<div class="toast">.*?<span>([^<]*)<\/span>/.exec(html)?.[1]

const FILTERS = 'Id of a merchant State All states Waiting At the bank Settled Failed Filter'

describe('GET /payouts', () => {
  it('200: lists payouts with their states, by merchant and state', async () => {
    const browser = await test.signedIn('viewer')
    const page = await browser.open(`/payouts?merchant=${merchantId}`)
    expect([page.status, plain(page.text)]).toEqual([
      200,
      `Payouts Payouts Bank files ${FILTERS} Amount State Merchant IBAN Created ↓ EUR 1,000.00 Waiting ID DK5000400440116243 TIME CSV`,
    ])
    expect(page.html).toMatch(/<a class="main-link figure" href="\/payouts\/[0-9a-f]{24}">EUR 1,000\.00<\/a>/)
    expect((await browser.open('/payouts?status=settled')).text).toBe(
      `Payouts Payouts Bank files ${FILTERS} No payout matches. Clear the filters`,
    )
  })

  it('200: gives the rows as CSV', async () => {
    const page = await (await test.signedIn('viewer')).open('/payouts?format=csv')
    expect([page.status, page.headers['content-disposition'], page.html.split('\r\n')[1]]).toEqual([
      200,
      'attachment; filename="payouts.csv"',
      expect.stringContaining(merchantId),
    ])
  })

  it('400: refuses a malformed id of a merchant', async () => {
    const page = await (await test.signedIn('viewer')).open('/payouts?merchant=x')
    expect([page.status, page.text]).toEqual([
      400,
      '400 Not valid A value of the form or the address is not valid. Go to the overview',
    ])
  })
})

/** Returns the path of the only payout in the list. */
const pathOf = async (browser: TestBrowser) => {
  const { html } = await browser.open('/payouts')
  return /class="main-link figure" href="(\/payouts\/[^"]+)"/.exec(html)?.[1] ?? ''
}
const NOT_FOUND = '404 Not found There is no such object, or it is gone. Go to the overview'

describe('GET /payouts/:payoutId', () => {
  it('200: shows a payout that waits, with its line and its account', async () => {
    const browser = await test.signedIn('viewer')
    const path = await pathOf(browser)
    const page = await browser.open(path)
    expect([page.status, plain(page.text)]).toEqual([
      200,
      'Payouts EUR 1,000.00 Waiting ID TIME Details Money waits for the next file for the bank IBAN DK5000400440116243 Merchant ID Line ID',
    ])
    expect(page.html).toContain(`<button type="button" class="copy" data-copy="${path.slice('/payouts/'.length)}"`)
    expect(page.html).toContain(`href="/merchants/${merchantId}"`)
  })

  it('200: is where the search for its id leads', async () => {
    const browser = await test.signedIn('viewer')
    const path = await pathOf(browser)
    const page = await browser.open(`/search?q=${path.slice('/payouts/'.length)}`)
    expect([page.status, plain(page.text)]).toEqual([200, 'Results for “ID” Payments EUR 1000.00 created ID payout'])
    expect(page.html).toContain(`<a class="main-link" href="${path}">`)
  })

  it.each(['0'.repeat(24), 'x'])('404: shows an error page for the id %s, which no payout has', async (id) => {
    const page = await (await test.signedIn('viewer')).open(`/payouts/${id}`)
    expect([page.status, page.text]).toEqual([404, NOT_FOUND])
  })
})

describe('POST /payouts/:payoutId/:change', () => {
  it('303: records what the bank made of a payout, once its files are made', async () => {
    const browser = await test.signedIn('admin')
    const path = await pathOf(browser)
    expect((await browser.open(path)).html).not.toContain(`${path}/outcome`)
    await browser.open('/payouts/export')
    await browser.submit('/payouts/export', { name: 'Trestle A/S', iban: 'DK5000400440116243', bic: '' })
    expect((await browser.open('/payouts')).html).toContain(`href="${path}/outcome" data-ask`)
    const viewer = await (await test.signedIn('viewer')).open(path)
    expect([viewer.html.includes(`${path}/outcome`), plain(viewer.text)]).toEqual([
      false,
      expect.stringMatching(
        /^Payouts EUR 1,000\.00 At the bank ID TIME Your role viewer may not use “Outcome”; admin may\. Details /,
      ),
    ])
    expect((await browser.open(`${path}/outcome`)).text).toBe(
      'Outcome of the payout of EUR 1,000.00 The bank has made of EUR 1,000.00 to DK5000400440116243 what you record here. This cannot be undone. Outcome Choose… settled: the account of the merchant has the money failed: the money goes back to the balance Record the outcome Cancel',
    )
    const page = await browser.submit(`${path}/outcome`, { outcome: 'failed' })
    expect([page.firstStatus, page.path, toastOf(page.html), plain(page.text)]).toEqual([
      303,
      path,
      'The payout is failed',
      'Payouts EUR 1,000.00 Failed ID TIME Details Money went back to the balance of the merchant IBAN DK5000400440116243 Merchant ID Line ID',
    ])
  })

  it.each([`/payouts/${'0'.repeat(24)}/outcome`, '/payouts/x/outcome', '/payouts/batches/outcome'])(
    '404: shows an error page for %s, which is the address of no payout',
    async (path) => {
      const page = await (await test.signedIn('admin')).open(path)
      expect([page.status, page.text]).toEqual([404, NOT_FOUND])
    },
  )
})
