import { removeFoldersAtEnd } from '@trestle/testing/temporary-folder.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestConsole, type TestConsole } from '../../../test/console-app.ts'
import { type RunningService, startService } from '../../../test/services.ts'
import { idOf, SHOP_ID, seedTransactions } from '../../../test/transactions.ts'

removeFoldersAtEnd()
let services: readonly [RunningService, RunningService]
let test: TestConsole
beforeAll(async () => {
  services = await Promise.all([startService('auth'), startService('payments')])
  test = await openTestConsole(services)
  await seedTransactions(services[1], [10_000], { capture: 10_000 })
  await services[1].command('adjust', SHOP_ID, '+500', 'A <b>gift</b>')
})
afterAll(async () => {
  await test.close()
  for (const service of services) await service.stop()
})

const PATH = `/merchants/${SHOP_ID}/lines`
const plain = (text: string) =>
  text.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/g, 'TIME').replaceAll(/\b[0-9a-f]{24}\b/g, 'ID')
const HEAD = 'Nordhavn <b>Coffee</b> Lines of Nordhavn <b>Coffee</b> Line Amount Fee Change Balance Of Created'
const CAPTURE = 'Capture EUR 100.00 EUR 1.60 EUR 98.40 EUR 98.40 ID TIME'
const GIFT = 'Adjustment – – EUR 5.00 EUR 103.40 A <b>gift</b> TIME'

describe('GET /merchants/:merchantId/lines', () => {
  it('200: lists the newest first, and leads back to the merchant and to the transaction', async () => {
    const page = await (await test.signedIn('viewer')).open(PATH)
    expect([page.status, plain(page.text)]).toEqual([200, `${HEAD} ↓ ${GIFT} ${CAPTURE} CSV`])
    expect(page.html).not.toContain('<b>')
    expect(page.html).toContain(`<p class="crumbs"><a href="/merchants/${SHOP_ID}">`)
    expect(page.html).toContain(`<a class="main-link" href="/transactions/${idOf(1)}">Capture</a>`)
  })

  it('200: turns the order round', async () => {
    const page = await (await test.signedIn('viewer')).open(`${PATH}?order=asc`)
    expect([page.status, plain(page.text)]).toEqual([200, `${HEAD} ↑ ${CAPTURE} ${GIFT} CSV`])
  })

  it('200: gives the lines as CSV', async () => {
    const page = await (await test.signedIn('viewer')).open(`${PATH}?format=csv`)
    expect([page.status, page.headers['content-disposition'], page.html.split('\r\n')[2]]).toEqual([
      200,
      'attachment; filename="lines.csv"',
      expect.stringContaining(`Capture ${idOf(1)}`),
    ])
  })

  it('422: shows the refusal of payments for a cursor that payments did not make', async () => {
    const page = await (await test.signedIn('viewer')).open(`${PATH}?cursor=nonsense`)
    expect([page.status, page.text]).toEqual([
      422,
      '422 Refused cursor: must be a cursor of this list. Go to the overview',
    ])
  })

  it.each(['0'.repeat(24), 'x'])('404: shows an error page for the id %s, which no merchant has', async (id) => {
    const page = await (await test.signedIn('viewer')).open(`/merchants/${id}/lines`)
    expect([page.status, page.text]).toEqual([
      404,
      '404 Not found There is no such object, or it is gone. Go to the overview',
    ])
  })
})
