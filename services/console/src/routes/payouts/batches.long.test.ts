import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestConsole, type TestConsole } from '../../../test/console-app.ts'
import { createPayableMerchant } from '../../../test/merchants.ts'
import { type RunningService, startService } from '../../../test/services.ts'

let services: readonly [RunningService, RunningService]
let test: TestConsole
beforeAll(async () => {
  services = await Promise.all([startService('auth'), startService('payments')])
  test = await openTestConsole(services)
  for (const currency of ['EUR', 'DKK']) await createPayableMerchant(services[1], currency)
  await services[1].command('payouts', 'run')
})
afterAll(async () => {
  await test.close()
  for (const service of services) await service.stop()
})

const plain = (text: string) =>
  text.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/g, 'TIME').replaceAll(/\b[0-9a-f]{24}\b/g, 'ID')

const debtor = { name: 'Trestle A/S', iban: 'DK5000400440116243', bic: '' }

describe('GET /payouts/batches', () => {
  it('200: lists batches after their export, with a button for each file for admins alone', async () => {
    const browser = await test.signedIn('admin')
    const empty = await browser.open('/payouts/batches')
    expect([empty.status, empty.text]).toEqual([
      200,
      'Payouts Pay out… Make bank files… Payouts Bank files No files were made for the bank yet.',
    ])
    await browser.open('/payouts/export')
    const page = await browser.submit('/payouts/export', debtor)
    expect(page.status).toBe(200)
    expect(plain(page.text)).toBe(
      'Payouts Pay out… Make bank files… Payouts Bank files Batch Amounts Payouts Created ↓ Actions ID EUR 1,000.00 DKK 1,000.00 2 TIME pain.001 CSV',
    )
    const seen = await (await test.signedIn('support')).open('/payouts/batches')
    expect([seen.status, seen.html]).toEqual([200, expect.not.stringContaining('pain.001')])
  })
})

describe('POST /payouts/batches/:batchId', () => {
  it('200: gives each file as a download', async () => {
    const browser = await test.signedIn('admin')
    const { html } = await browser.open('/payouts/batches')
    const [, path = ''] = /action="(\/payouts\/batches\/[^"]+)"/.exec(html) ?? []
    const [csrf, key] = ['_csrf', '_key'].map((name) => new RegExp(`name="${name}" value="([^"]+)"`).exec(html)?.[1])
    const files = []
    for (const kind of ['xml', 'csv']) {
      const { status, headers, html: text } = await browser.post(path, { _csrf: csrf ?? '', _key: key ?? '', kind })
      files.push([status, plain(String(headers['content-disposition'])), text.slice(0, 14)])
    }
    expect(files).toEqual([
      [200, 'attachment; filename="payouts-ID.xml"', '<?xml version='],
      [200, 'attachment; filename="payouts-ID.csv"', 'payout,merchan'],
    ])
  })

  it('403: gives support no file', async () => {
    const admin = await test.signedIn('admin')
    const [, path = ''] = /action="(\/payouts\/batches\/[^"]+)"/.exec((await admin.open('/payouts/batches')).html) ?? []
    const browser = await test.signedIn('support')
    const [, csrf = ''] = /name="_csrf" value="([^"]+)"/.exec((await browser.open('/')).html) ?? []
    const page = await browser.post(path, { _csrf: csrf, _key: 'k', kind: 'xml' })
    expect([page.status, page.text]).toEqual([403, '403 Not allowed Your role may not do this. Go to the overview'])
  })
})
