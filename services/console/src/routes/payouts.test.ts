import { afterAll, beforeAll, describe, expect, it } from 'vitest'
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

describe('POST /payouts/:change', () => {
  it('303: pays out after a question, as a job', async () => {
    const browser = await test.signedIn('admin')
    expect((await browser.open('/payouts/run')).text).toBe(
      'Pay out all merchants A job makes a payout of the balance of each merchant, less what open disputes and young captures keep. The payouts wait until a file for the bank is made. Merchant (optional) The id of one merchant. Empty: all with a balance above 0. Pay out Cancel',
    )
    const page = await browser.submit('/payouts/run', { merchant: merchantId })
    expect([page.firstStatus, page.path, toastOf(page.html)]).toEqual([
      303,
      '/payouts',
      'A job pays out. Its payouts appear here',
    ])
  })

  it('403: shows no form to the role support', async () => {
    const page = await (await test.signedIn('support')).open('/payouts/export')
    expect([page.status, page.text]).toEqual([
      403,
      '403 Not allowed Your role support may not do this; admin may. Go to the overview',
    ])
  })
})

describe('POST /payouts/:merchantId/:payoutId/:change', () => {
  it('303: records what the bank made of a payout, once its files are made', async () => {
    const browser = await test.signedIn('admin')
    await browser.open('/payouts/export')
    const debtor = { name: 'Trestle A/S', iban: 'DK5000400440116243', bic: '' }
    const batches = await browser.submit('/payouts/export', debtor)
    expect([batches.firstStatus, batches.path, toastOf(batches.html)]).toEqual([
      303,
      '/payouts/batches',
      'The files for the bank are made',
    ])
    const { html } = await browser.open('/payouts')
    const [, question = ''] = /href="(\/payouts\/[0-9a-f]+\/[0-9a-f]+\/outcome)" data-ask/.exec(html) ?? []
    expect((await browser.open(question)).text).toBe(
      'Outcome of the payout of EUR 1,000.00 The bank has made of EUR 1,000.00 to DK5000400440116243 what you record here. This cannot be undone. Outcome Choose… settled: the account of the merchant has the money failed: the money goes back to the balance Record the outcome Cancel',
    )
    const page = await browser.submit(question, { outcome: 'failed' })
    expect([page.firstStatus, page.path, toastOf(page.html), page.text.includes('EUR 1,000.00 Failed')]).toEqual([
      303,
      '/payouts',
      'The payout is failed',
      true,
    ])
  })

  it('404: shows an error page for an unknown payout', async () => {
    const path = `/payouts/${merchantId}/${'0'.repeat(24)}/outcome`
    const page = await (await test.signedIn('admin')).open(path)
    expect([page.status, page.text]).toEqual([
      404,
      '404 Not found There is no such object, or it is gone. Go to the overview',
    ])
  })

  it.each(['/payouts/x/y/outcome', `/payouts/${'0'.repeat(23)}/x/outcome`])(
    '404: shows an error page for %s, whose id is malformed',
    async (path) => {
      const page = await (await test.signedIn('admin')).open(path)
      expect([page.status, page.text]).toEqual([
        404,
        '404 Not found There is no such object, or it is gone. Go to the overview',
      ])
    },
  )
})
