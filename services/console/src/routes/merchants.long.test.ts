import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
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

  it('200: lists a balance that passes the exact numbers of JSON, and shows its merchant', async () => {
    const [, payments] = services
    const rich = 'UPDATE payments.merchant_balances SET balance = $1 WHERE merchant_id = $2'
    await payments?.query(rich, ['9504942135677296', shop.merchantId])
    onTestFinished(async () => void (await payments?.query(rich, ['0', shop.merchantId])))
    const browser = await test.signedIn('viewer')
    const pages = await Promise.all(
      ['/merchants?search=nordhavn', `/merchants/${shop.merchantId}`].map((path) => browser.open(path)),
    )
    for (const { status, text } of pages) {
      expect([status, text]).toEqual([200, expect.stringContaining('EUR 95,049,421,356,772.96')])
    }
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
      'Merchants Nordhavn Coffee Test ID https://shop.example since Your role viewer may not use “Change fees”, “Advance clock”; admin may. Balance EUR 0.00 Available for a payout EUR 0.00 Kept for open disputes EUR 0.00 Lines Transactions Disputes Payouts Exceptions Apps Name Id Nordhavn Coffee ID Users No user has access. Details Public key ID Email shop@example.com Descriptor SHOP Company DK IBAN DK5000400440116243 Fee 1.35 % + EUR 0.25 Fee of a dispute EUR 25.00 3-D Secure attempt Acquirer simulator May not pay out to cards Webhooks Events are sent nowhere.',
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

const toastOf = (html: string) => /<div class="toast">.*?<span>([^<]*)<\/span>/.exec(html)?.[1]

describe('POST /merchants/:merchantId/:change', () => {
  const ASKED =
    'Change the fees of Nordhavn Coffee Nordhavn Coffee pays the new fees for later captures, refunds and lost disputes. Earlier fees stay. Unchanged fields keep their values. The merchant gets an event.'
  const FEES =
    'Share of a capture in percent Fee of a capture in EUR Fee of a lost dispute in EUR Fee of a refund in EUR Payments does not show it. Empty: unchanged. Change fees Cancel'
  const CLOCK =
    'Advance the clock of Nordhavn Coffee Expiry of cards and authorizations, payouts and due dates of disputes follow the clock of this test merchant. Authorizations that have expired by the new time are voided at once. This cannot be undone: the clock never goes back.'
  const sends = async (change: string, fields: Readonly<Record<string, string>>) => {
    const browser = await test.signedIn('admin')
    const path = `/merchants/${shop.merchantId}/${change}`
    const question = await browser.open(path)
    return { path, question, page: await browser.submit(path, fields) }
  }

  it('303: changes the fees that differ from those of the form, after a question', async () => {
    const { question, page } = await sends('pricing', { rate: '0,9', flat: '0.25', refund: '0.05', dispute: '25.00' })
    expect(question.text).toBe(`${ASKED} ${FEES}`)
    expect(
      [...question.html.matchAll(/id="(\w+)" name="\w+" type="text" value="([^"]*)"/g)].map(([, ...field]) => field),
    ).toEqual([
      ['rate', '1.35'],
      ['flat', '0.25'],
      ['dispute', '25.00'],
      ['refund', ''],
    ])
    expect([page.firstStatus, page.path, toastOf(page.html)]).toEqual([
      303,
      `/merchants/${shop.merchantId}`,
      'The fees are changed',
    ])
    expect(page.text).toContain('Fee 0.90 % + EUR 0.25 Fee of a dispute EUR 25.00')
    const [, payments] = services
    const kept = await payments?.query(
      `SELECT payload -> 'changes' AS changes FROM payments.audit WHERE action = 'operator.merchants.price'`,
    )
    expect(kept).toEqual([{ changes: { rate: 90, refund: { currency: 'EUR', amount: 5 } } }])
    await sends('pricing', { rate: '1.35', flat: '0.25', refund: '0', dispute: '25.00' })
  })

  it.each([
    ['rate', '100.01', 'This is no percentage from 0 to 100 with at most two decimals.'],
    ['flat', '1.234', 'This is no amount in EUR.'],
    ['dispute', 'much', 'This is no amount in EUR.'],
  ])('422: marks the field %s that holds %s', async (field, text, message) => {
    const { page } = await sends('pricing', { rate: '1.35', flat: '0.25', refund: '', dispute: '25.00', [field]: text })
    expect([page.status, page.text]).toEqual([422, `${ASKED} ${message} ${FEES}`])
    expect(page.html).toMatch(new RegExp(`id="${field}" [^>]*value="${text}"[^>]*aria-invalid="true"`))
  })

  it('422: changes nothing where all fees are as they were', async () => {
    const { page } = await sends('pricing', { rate: '1.35', flat: '0.25', refund: '', dispute: '25.00' })
    expect([page.status, page.text]).toEqual([422, `${ASKED} Nothing is changed yet. ${FEES}`])
  })

  it('303: moves the clock of a test merchant by days and hours, and tells the new time', async () => {
    const before = Date.now()
    const { question, page } = await sends('clock', { days: '2', hours: '3' })
    expect(question.text).toBe(`${CLOCK} Days Hours Advance clock Cancel`)
    expect([page.firstStatus, page.path]).toEqual([303, `/merchants/${shop.merchantId}`])
    const [, day, time] = /^The clock stands at (\S+) (\S+) UTC$/.exec(toastOf(page.html) ?? '') ?? []
    const moved = Date.parse(`${day}T${time}:59Z`) - before
    expect([moved >= 51 * 3_600_000, moved < 52 * 3_600_000]).toEqual([true, true])
  })

  it.each([
    ['0', '0', 'days'],
    ['1.5', '', 'days'],
    ['1', '-1', 'hours'],
  ])('422: moves no clock by %s days and %s hours', async (days, hours, field) => {
    const { page } = await sends('clock', { days, hours })
    const message = 'Type days and hours as whole numbers, above 0 together.'
    expect([page.status, page.text]).toEqual([422, `${CLOCK} ${message} Days Hours Advance clock Cancel`])
    expect(page.html).toMatch(new RegExp(`id="${field}" [^>]*aria-invalid="true"`))
  })

  it('422: shows the refusal of payments at its field', async () => {
    const { page } = await sends('clock', { days: '40000', hours: '' })
    expect([page.status, page.text]).toEqual([
      422,
      `${CLOCK} advance: must not lead more than 100 years ahead Days Hours Advance clock Cancel`,
    ])
    expect(page.html).toMatch(/id="days" [^>]*aria-invalid="true"/)
  })

  it.each(['pricing', 'clock'])('403: shows no form of %s to the role support', async (change) => {
    const page = await (await test.signedIn('support')).open(`/merchants/${shop.merchantId}/${change}`)
    expect([page.status, page.text]).toEqual([
      403,
      '403 Not allowed Your role support may not do this; admin may. Go to the overview',
    ])
  })

  it.each([`/merchants/${'0'.repeat(24)}/pricing`, '/merchants/x/clock'])(
    '404: shows an error page for %s, which no merchant has',
    async (path) => {
      const page = await (await test.signedIn('admin')).open(path)
      expect([page.status, page.text]).toEqual([
        404,
        '404 Not found There is no such object, or it is gone. Go to the overview',
      ])
    },
  )
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
