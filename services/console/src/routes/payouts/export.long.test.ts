import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestConsole, type TestConsole } from '../../../test/console-app.ts'
import { createPayableMerchant } from '../../../test/merchants.ts'
import { type RunningService, startService } from '../../../test/services.ts'

let services: readonly [RunningService, RunningService]
let test: TestConsole
beforeAll(async () => {
  services = await Promise.all([startService('auth'), startService('payments')])
  test = await openTestConsole(services)
  await createPayableMerchant(services[1], 'EUR')
  await services[1].command('payouts', 'run')
})
afterAll(async () => {
  await test.close()
  for (const service of services) await service.stop()
})

const toastOf = (html: string) => /<div class="toast">.*?<span>([^<]*)<\/span>/.exec(html)?.[1]

describe('POST /payouts/export', () => {
  it('303: makes files for the bank after a question, and leads to them', async () => {
    const browser = await test.signedIn('admin')
    expect((await browser.open('/payouts/export')).text).toBe(
      'Make files for the bank Up to 5,000 payouts that wait go into files for the bank, and count as exported. You find the files among the batches. Give each to the bank once: it makes the payments in it. Owner of the account that pays IBAN of the account BIC of its bank (optional) Day on which the bank pays (optional) Such as 2026-03-02. Empty: the next day on which banks settle. Make bank files Cancel',
    )
    const debtor = { name: 'Trestle A/S', iban: 'DK5000400440116243', bic: '' }
    const page = await browser.submit('/payouts/export', debtor)
    expect([page.firstStatus, page.path, toastOf(page.html)]).toEqual([
      303,
      '/payouts/batches',
      'The files for the bank are made',
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
