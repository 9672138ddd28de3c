import { removeFoldersAtEnd } from '@trestle/testing/temporary-folder.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestConsole, type TestConsole } from '../../test/console-app.ts'
import { type RunningService, startService } from '../../test/services.ts'
import { idOf, SHOP_ID, seedTransactions } from '../../test/transactions.ts'

removeFoldersAtEnd()
let services: readonly [RunningService, RunningService]
let test: TestConsole
beforeAll(async () => {
  services = await Promise.all([startService('auth'), startService('payments')])
  test = await openTestConsole(services)
  await seedTransactions(services[1], [10_000], { capture: 8_000 })
  await services[1].command('frauds', 'add', idOf(1), '--reason', '1')
})
afterAll(async () => {
  await test.close()
  for (const service of services) await service.stop()
})

const plain = (text: string) =>
  text.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/g, 'TIME').replaceAll(/\b[0-9a-f]{24}\b/g, 'ID')

describe('GET /frauds', () => {
  it('200: lists fraud alerts by merchant with their reasons, and leads to their payments', async () => {
    const browser = await test.signedIn('viewer')
    const page = await browser.open(`/frauds?merchant=${SHOP_ID}`)
    expect(page.status).toBe(200)
    expect(plain(page.text)).toBe(
      'Disputes Disputes Fraud alerts Id of a merchant Filter Transaction Reason Reported Merchant Created ↓ ID Fraudulent usage – ID TIME',
    )
    expect(page.html).toContain(`<a class="main-link" href="/transactions/${idOf(1)}">`)
    expect((await browser.open(`/transactions/${idOf(1)}`)).text).toContain('Fraud alert Fraudulent usage')
    expect((await browser.open(`/frauds?merchant=${'0'.repeat(24)}`)).text).toContain(
      'No alert matches. Clear the filters',
    )
  })
})
