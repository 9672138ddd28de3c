import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestConsole, type TestConsole } from '../../test/console-app.ts'
import { type Created, createMerchant } from '../../test/merchants.ts'
import { type RunningService, startService } from '../../test/services.ts'

let services: readonly RunningService[]
let test: TestConsole
let shop: Created
const XSS = '<img src=x onerror=alert(1)>'
beforeAll(async () => {
  services = await Promise.all([startService('auth'), startService('payments')])
  test = await openTestConsole(services)
  const [, payments] = services
  if (payments === undefined) throw new Error('payments is missing')
  shop = await createMerchant(payments, 'Nordhavn Coffee')
  await createMerchant(payments, XSS)
  for (let n = 1; n <= 25; n += 1) await createMerchant(payments, `Shop ${n}`)
})
afterAll(async () => {
  await test.close()
  for (const service of services) await service.stop()
})

const namesOf = (html: string) =>
  [...html.matchAll(/<a class="main-link" href="[^"]*">([^<]*)<\/a>/g)].map(([, name]) => name)

describe('GET /merchants', () => {
  it('200: lists the newest first, and leads to the next page and back', async () => {
    const browser = await test.signedIn('viewer')
    const first = await browser.open('/merchants')
    expect(first.status).toBe(200)
    expect(namesOf(first.html)).toEqual(Array.from({ length: 25 }, (_, index) => `Shop ${25 - index}`))
    const [, next = ''] = /<a class="button" href="([^"]+)" rel="next" data-next>/.exec(first.html) ?? []
    const second = await browser.open(next.replaceAll('&amp;', '&'))
    expect(second.status).toBe(200)
    expect(namesOf(second.html)).toEqual(['&lt;img src=x onerror=alert(1)&gt;', 'Nordhavn Coffee'])
    const [, back = ''] = /<a class="button" href="([^"]+)" rel="prev" data-previous>/.exec(second.html) ?? []
    expect(back).toBe('/merchants')
  })

  it('200: finds by the beginning of a name, turns the order round, and says when nothing is found', async () => {
    const browser = await test.signedIn('viewer')
    const found = await browser.open('/merchants?search=nordhavn')
    expect([found.status, namesOf(found.html)]).toEqual([200, ['Nordhavn Coffee']])
    const oldest = await browser.open('/merchants?order=asc')
    expect([oldest.status, namesOf(oldest.html).slice(0, 2)]).toEqual([
      200,
      ['Nordhavn Coffee', '&lt;img src=x onerror=alert(1)&gt;'],
    ])
    const none = await browser.open('/merchants?search=nobody')
    expect([none.status, none.text]).toEqual([
      200,
      'Merchants Id, public key, name, email or website Mode Live and test Live Test Filter No merchant matches. Clear the filters',
    ])
  })

  it('422: shows the refusal of payments for a cursor that payments did not make', async () => {
    const page = await (await test.signedIn('viewer')).open('/merchants?cursor=nonsense')
    expect([page.status, page.text]).toEqual([
      422,
      '422 Refused cursor: must be a cursor of this list. Go to the overview',
    ])
  })
})

describe('GET /merchants/:merchantId', () => {
  it('200: shows balance, apps, users, webhooks and details', async () => {
    const page = await (await test.signedIn('viewer')).open(`/merchants/${shop.merchantId}`)
    expect([
      page.status,
      page.text.replace(/since \S+ \S+ UTC/, 'since').replaceAll(/[0-9a-f-]{36}|[0-9a-f]{24}/g, 'ID'),
    ]).toEqual([
      200,
      'Merchants Nordhavn Coffee Test ID https://shop.example since Balance EUR 0.00 Available for a payout EUR 0.00 Kept for open disputes EUR 0.00 Lines Transactions Disputes Payouts Exceptions Apps Name Id Nordhavn Coffee ID Users No user has access. Details Public key ID Email shop@example.com Descriptor SHOP Company DK IBAN DK5000400440116243 Fee 1.35 % + EUR 0.25 Fee of a dispute EUR 25.00 3-D Secure attempt Acquirer simulator May not pay out to cards Webhooks Events are sent nowhere.',
    ])
    expect(page.html).not.toContain('Revoke keys')
  })

  it('404: shows an error page for an unknown merchant', async () => {
    const page = await (await test.signedIn('viewer')).open(`/merchants/${'0'.repeat(24)}`)
    expect([page.status, page.text]).toEqual([
      404,
      '404 Not found There is no such object, or it is gone. Go to the overview',
    ])
  })
})

describe('the pages of payments', () => {
  it('503: say that payments does not answer, while the others work', async () => {
    const [auth] = services
    if (auth === undefined) throw new Error('auth is missing')
    const other = await openTestConsole([auth, { name: 'payments', url: 'http://127.0.0.1:1' }])
    const browser = other.browser()
    for (const [name, value] of (await test.signedIn('viewer')).cookies) browser.cookies.set(name, value)
    const page = await browser.open('/merchants')
    expect([page.status, page.text]).toEqual([
      503,
      '503 Not available Payments does not answer. Its pages work again as soon as it does. Go to the overview',
    ])
    expect((await browser.open('/')).status).toBe(200)
    await other.close()
  })

  it('404: are not there where payments is not set up', async () => {
    const [auth] = services
    if (auth === undefined) throw new Error('auth is missing')
    const other = await openTestConsole([auth])
    const browser = other.browser()
    for (const [name, value] of (await test.signedIn('viewer')).cookies) browser.cookies.set(name, value)
    expect((await browser.open('/')).html).not.toContain('/merchants')
    const gone = await browser.open('/merchants')
    expect([gone.status, gone.text]).toEqual([
      404,
      '404 Not found There is no such object, or it is gone. Go to the overview',
    ])
    await other.close()
  })
})
