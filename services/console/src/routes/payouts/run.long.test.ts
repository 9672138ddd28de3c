import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestConsole, type TestConsole } from '../../../test/console-app.ts'
import { createPayableMerchant } from '../../../test/merchants.ts'
import { type RunningService, startService } from '../../../test/services.ts'

let services: readonly [RunningService, RunningService]
let test: TestConsole
let merchantId: string
beforeAll(async () => {
  services = await Promise.all([startService('auth'), startService('payments')])
  test = await openTestConsole(services)
  merchantId = await createPayableMerchant(services[1], 'EUR')
})
afterAll(async () => {
  await test.close()
  for (const service of services) await service.stop()
})

const toastOf = (html: string) => /<div class="toast">.*?<span>([^<]*)<\/span>/.exec(html)?.[1]

describe('POST /payouts/run', () => {
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
    const page = await (await test.signedIn('support')).open('/payouts/run')
    expect([page.status, page.text]).toEqual([
      403,
      '403 Not allowed Your role support may not do this; admin may. Go to the overview',
    ])
  })
})
