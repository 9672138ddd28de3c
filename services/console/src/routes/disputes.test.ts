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
  it('200: lists disputes by state and merchant, and leads to their payments', async () => {
    const browser = await test.signedIn('viewer')
    const page = await browser.open(`/disputes?status=open&merchant=${SHOP_ID}`)
    expect(page.status).toBe(200)
    expect(plain(page.text)).toBe(
      `Disputes Disputes Fraud alerts ${FILTERS} Amount State Reason Due Merchant Created ↓ EUR 50.00 open Not received TIME ID TIME CSV`,
    )
    expect(page.html).toContain(`<a class="main-link figure" href="/transactions/${idOf(1)}">`)
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

  it('404: records no outcome of a dispute by the page of another payment', async () => {
    const browser = await test.signedIn('admin')
    const { html } = await browser.open('/disputes')
    const [, query = ''] = /close-dispute(\?dispute=[^"]+)" data-ask/.exec(html) ?? []
    const page = await browser.open(`/transactions/${idOf(2)}/close-dispute${query}&outcome=lost`)
    expect([page.status, query.length > 20]).toEqual([404, true])
  })

  it('303: lets an admin record the outcome from the list', async () => {
    const browser = await test.signedIn('admin')
    const { html } = await browser.open('/disputes')
    const [, question = ''] = /href="(\/transactions\/[^"]+close-dispute[^"]+)" data-ask/.exec(html) ?? []
    await browser.open(question)
    const page = await browser.submit(`/transactions/${idOf(1)}/close-dispute`, { outcome: 'won' })
    expect([page.firstStatus, page.path, toastOf(page.html)]).toEqual([
      303,
      `/transactions/${idOf(1)}`,
      'The dispute is won',
    ])
  })
})
