import { removeFoldersAtEnd } from '@trestle/testing/temporary-folder.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cardOf, hiddenFields, type TestBrowser } from '../../test/browser.ts'
import { openTestConsole, type TestConsole } from '../../test/console-app.ts'
import { openLossyConsole } from '../../test/lost-answers.ts'
import { type RunningService, startService } from '../../test/services.ts'
import { idOf, SHOP_ID, seedTransactions } from '../../test/transactions.ts'

removeFoldersAtEnd()
let services: readonly [RunningService, RunningService]
let test: TestConsole
beforeAll(async () => {
  services = await Promise.all([startService('auth'), startService('payments')])
  test = await openTestConsole(services)
  await seedTransactions(services[1], [
    ...[1_250, 99_900, 10_000, 20_000, 30_000],
    { currency: 'HUF', amount: 500_000 },
  ])
})
afterAll(async () => {
  await test.close()
  for (const service of services) await service.stop()
})

const UTC = /\d{4}-\d\d-\d\d \d\d:\d\d UTC/g
const ID = /\b[0-9a-f]{24}\b/g
const plain = (text: string) => text.replaceAll(UTC, 'TIME').replaceAll(ID, 'ID')
const toastOf = (html: string) => /<div class="toast">.*?<span>([^<]*)<\/span>/.exec(html)?.[1]
const changesOf = (html: string) =>
  [...html.matchAll(/href="\/transactions\/[^/"]+\/([a-z-]+)" data-ask/g)].map(([, name]) => name)
const sends = async (browser: TestBrowser, path: string, fields: Readonly<Record<string, string>>) => {
  await browser.open(path)
  const page = await browser.submit(path, fields)
  return [page.firstStatus, page.path, toastOf(page.html)]
}
const pathOf = (number: number, change = '') => `/transactions/${idOf(number)}${change}`

describe('GET /transactions', () => {
  it('200: finds by an amount as people write it, in minor units, by last four digits and by id', async () => {
    const browser = await test.signedIn('viewer')
    for (const search of ['12.50', '12,50', '1250', idOf(1)]) {
      const { status, html } = await browser.open(`/transactions?${new URLSearchParams({ search })}`)
      expect(status).toBe(200)
      expect([...html.matchAll(/main-link figure" href="([^"]+)">([^<]+)/g)].map(([, ...found]) => found)).toEqual([
        [pathOf(1), 'EUR 12.50'],
      ])
    }
    const none = await browser.open('/transactions?search=9999')
    expect([none.status, none.text]).toEqual([
      200,
      'Transactions Last 4, amount (12.50, HUF 1000) or both, reference, id Outcome All outcomes Authorized Refused Mode Live and test Live Test Filter No transaction matches. Clear the filters',
    ])
  })

  it('200: finds by last four digits with an amount, in either order, and nothing where one of them differs', async () => {
    const browser = await test.signedIn('viewer')
    const found = async (search: string) => {
      const { status, html } = await browser.open(`/transactions?${new URLSearchParams({ search })}`)
      expect(status).toBe(200)
      return [...html.matchAll(/main-link figure" href="([^"]+)"/g)].map(([, path]) => path)
    }
    for (const search of ['0000 12.50', '12,50 0000', '0000 EUR 12.50', '0000 €12.50'])
      expect([search, await found(search)]).toEqual([search, [pathOf(1)]])
    for (const search of ['0001 12.50', '0000 12.51', '0000 USD 12.50'])
      expect([search, await found(search)]).toEqual([search, []])
    expect((await browser.open('/transactions?search=0000+12.50')).text).not.toContain('CSV')
  })

  it('200: lists those of a merchant with their states, and says how to take the filter away', async () => {
    const browser = await test.signedIn('viewer')
    const all = await browser.open(`/transactions?merchant=${SHOP_ID}&search=12.50`)
    expect(all.status).toBe(200)
    expect(plain(all.text)).toBe(
      'Transactions Last 4, amount (12.50, HUF 1000) or both, reference, id Outcome All outcomes Authorized Refused Mode Live and test Live Test Merchant ID Filter Amount State Card Reference Id Created ↓ EUR 12.50 Authorized Test Visa •••• 0000 – ID TIME CSV',
    )
    expect(all.html).toContain('<a href="/transactions?search=12.50" aria-label="Take the filter away: Merchant')
  })

  it('200: gives the rows of the filter as CSV, for download alone', async () => {
    const page = await (await test.signedIn('viewer')).open('/transactions?search=1250&format=csv')
    expect([
      page.status,
      page.headers['content-type'],
      page.headers['content-disposition'],
      page.headers['x-content-type-options'],
    ]).toEqual([200, 'text/csv; charset=utf-8', 'attachment; filename="transactions.csv"', 'nosniff'])
    const [, created = ''] = /,(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z),/.exec(page.html) ?? []
    expect(page.html.split('\r\n')).toEqual([
      'id,merchantId,created,test,currency,amount,pendingAmount,capturedAmount,refundedAmount,voidedAmount,disputedAmount,reference,descriptor,card.bin,card.last4,card.scheme,tds,recurring,successful,error.code,error.message',
      `${idOf(1)},${SHOP_ID},${created},true,EUR,1250,1250,0,0,0,0,,NORDHAVN,410000,0000,visa,,false,true,,`,
      '',
    ])
  })
})

describe('GET /transactions/:transactionId', () => {
  it('200: shows amounts, trail, ledger, details and events, with the name of the merchant as text', async () => {
    const page = await (await test.signedIn('viewer')).open(pathOf(1))
    expect(page.status).toBe(200)
    expect(plain(page.text)).toBe(
      'Transactions EUR 12.50 Authorized Test Nordhavn <b>Coffee</b> ID TIME Your role viewer may not use “Capture”, “Void”; admin may. Captured EUR 0.00 Pending EUR 12.50 Trail Nothing was captured, refunded or voided yet. Ledger Nothing is booked yet. Details Card Visa •••• 0000 Expires 2066-12 BIN 410000 Security code given 3-D Secure none Made by the customer Descriptor NORDHAVN Acquirer simulator Events Deliveries of the merchant No event in the last 30 days.',
    )
    expect(page.html).toContain('Nordhavn &lt;b&gt;Coffee&lt;/b&gt;')
  })

  it('200: offers each role only what it may do', async () => {
    const offered = async (role: 'viewer' | 'support' | 'admin') => {
      const { status, html } = await (await test.signedIn(role)).open(pathOf(1))
      expect(status).toBe(200)
      return changesOf(html)
    }
    expect([await offered('viewer'), await offered('support'), await offered('admin')]).toEqual([
      [],
      [],
      ['capture', 'void'],
    ])
  })

  it('404: shows an error page for an unknown transaction', async () => {
    const page = await (await test.signedIn('viewer')).open(`/transactions/${'0'.repeat(24)}`)
    expect([page.status, page.text]).toEqual([
      404,
      '404 Not found There is no such object, or it is gone. Go to the overview',
    ])
  })
})

describe('POST /transactions/:transactionId/:change', () => {
  it('303: captures and voids after questions that name card and merchant', async () => {
    const browser = await test.signedIn('admin')
    expect((await browser.open(pathOf(1, '/capture'))).text).toBe(
      'Capture a payment The amount is taken from Visa •••• 0000 and credited to Nordhavn <b>Coffee</b>. Only a refund gives it back. Amount in EUR At most EUR 12.50. Reference (optional) Capture Cancel',
    )
    const page = await browser.submit(pathOf(1, '/capture'), { amount: '10,00', reference: '' })
    expect([page.firstStatus, page.path, toastOf(page.html)]).toEqual([303, pathOf(1), 'EUR 10.00 captured'])
    expect(await sends(browser, pathOf(1, '/void'), { amount: '2.50', reference: 'sold out' })).toEqual([
      303,
      pathOf(1),
      'EUR 2.50 voided',
    ])
    expect(plain(cardOf(browser.page(), 'Trail'))).toBe('Trail Captured EUR 10.00 TIME Voided EUR 2.50 TIME · sold out')
    expect(changesOf(browser.page().html)).toEqual(['refund', 'dispute'])
  })

  it('303: moves forints with their two decimals, which cash does not have', async () => {
    const browser = await test.signedIn('admin')
    expect(await sends(browser, pathOf(6, '/capture'), { amount: '1000', reference: '' })).toEqual([
      303,
      pathOf(6),
      'HUF 1,000.00 captured',
    ])
    expect(plain(browser.page().text)).toContain('Captured HUF 1,000.00 Pending HUF 4,000.00')
    expect((await browser.open(pathOf(6, '/void'))).html).toContain('value="4000.00"')
    const { html } = await browser.open(`/transactions?${new URLSearchParams({ search: 'huf 5000' })}`)
    expect(html).toContain(`<a class="main-link figure" href="${pathOf(6)}">HUF 5,000.00</a>`)
  })

  it('422: says what is wrong with an amount before payments is asked, and marks its field', async () => {
    const browser = await test.signedIn('admin')
    for (const [amount, problem] of [
      ['much', 'This is no amount in EUR.'],
      ['0', 'The amount must be above EUR 0.00.'],
      ['999.01', 'The amount must be at most EUR 999.00.'],
    ] as const) {
      await browser.open(pathOf(2, '/capture'))
      const { status, text, html } = await browser.submit(pathOf(2, '/capture'), { amount, reference: '' })
      const [, sent] =
        /<input id="amount"[^>]* value="([^"]*)"[^>]* aria-invalid="true" aria-describedby="amount-hint problem">/.exec(
          html,
        ) ?? []
      expect([status, text, sent]).toEqual([
        422,
        `Capture a payment The amount is taken from Visa •••• 0000 and credited to Nordhavn <b>Coffee</b>. Only a refund gives it back. ${problem} Amount in EUR At most EUR 999.00. Reference (optional) Capture Cancel`,
        amount,
      ])
    }
  })

  it('303: lets support refund within the quota, says what is left of it, and then offers no refund', async () => {
    const admin = await test.signedIn('admin')
    await sends(admin, pathOf(3, '/capture'), { amount: '100', reference: '' })
    const browser = await test.signedIn('support')
    const path = pathOf(3, '/refund')
    expect((await browser.open(path)).text).toBe(
      'Refund a payment The amount goes back to Visa •••• 0000, and is taken from the balance of Nordhavn <b>Coffee</b>. This cannot be undone. You may still refund EUR 80.00 today, and at most EUR 50.00 at once. An admin may refund more. Amount in EUR At most EUR 50.00. Reference (optional) Refund Cancel',
    )
    expect(browser.page().html).toContain('value="50.00"')
    const page = await browser.submit(path, { amount: '50.00', reference: 'broken cup' })
    expect([page.firstStatus, page.path, toastOf(page.html)]).toEqual([303, pathOf(3), 'EUR 50.00 refunded'])
    expect(page.text).toContain('You may still refund EUR 30.00 today.')
    await browser.open(path)
    const beyond = await browser.submit(path, { amount: '31.00', reference: '' })
    expect([beyond.status, beyond.text]).toEqual([
      422,
      'Refund a payment The amount goes back to Visa •••• 0000, and is taken from the balance of Nordhavn <b>Coffee</b>. This cannot be undone. You may still refund EUR 30.00 today. An admin may refund more. The refund is more than the operator may refund Amount in EUR At most EUR 30.00. Reference (optional) Refund Cancel',
    ])
    await sends(browser, path, { amount: '30', reference: '' })
    const last = await browser.open(pathOf(3))
    expect([changesOf(last.html), last.text]).toEqual([
      [],
      expect.stringContaining('You may refund nothing more in EUR today. An admin may.'),
    ])
  })

  it('303: opens a dispute, and records that it was lost', async () => {
    const browser = await test.signedIn('admin')
    await sends(browser, pathOf(4, '/capture'), { amount: '200', reference: '' })
    expect((await browser.open(pathOf(4, '/dispute'))).text).toContain(
      'Reason Cardholder dispute (4853) Fraud, card absent (104) Not received (131)',
    )
    const typed = { amount: '150', reference: 'paper 7', reason: '131' }
    expect(await sends(browser, pathOf(4, '/dispute'), typed)).toEqual([
      303,
      pathOf(4),
      'A dispute of EUR 150.00 is open',
    ])
    expect(plain(cardOf(browser.page(), 'Disputes and fraud alerts'))).toBe(
      'Disputes and fraud alerts Amount Reason When Actions EUR 150.00 Not received open due TIME Outcome…',
    )
    const [, question = ''] = /href="(\/disputes\/[0-9a-f]{24}\/outcome)" data-ask/.exec(browser.page().html) ?? []
    await browser.open(question)
    const led = await browser.submit(question, { outcome: 'lost' })
    expect([led.firstStatus, led.path, toastOf(led.html)]).toEqual([
      303,
      question.replace('/outcome', ''),
      'The dispute is lost',
    ])
    const page = await browser.open(pathOf(4))
    expect(plain(cardOf(page, 'Disputes and fraud alerts'))).toBe(
      'Disputes and fraud alerts Amount Reason When EUR 150.00 Not received lost',
    )
    expect(plain(cardOf(page, 'Trail'))).toBe('Trail Captured EUR 200.00 TIME Dispute lost: EUR 150.00 TIME')
  })

  it('503: offers a capture again whose answer was lost, under the same key, so that it happens once', async () => {
    const lossy = await openLossyConsole(services[0], services[1], await test.signedIn('admin'))
    const { browser } = lossy
    await browser.open(pathOf(5, '/capture'))
    lossy.loseAnswers(true)
    const lost = await browser.submit(pathOf(5, '/capture'), { amount: '100', reference: '' })
    expect([lost.status, lost.text]).toEqual([
      503,
      expect.stringContaining('The service has not answered, so the outcome is unknown.'),
    ])
    lossy.loseAnswers(false)
    const page = await browser.submit(pathOf(5, '/capture'), { amount: '100', reference: '' })
    expect([page.status, page.path, plain(page.text)]).toEqual([
      200,
      pathOf(5),
      expect.stringContaining('Captured EUR 100.00 Pending EUR 200.00 Trail Captured EUR 100.00 TIME Ledger'),
    ])
    await lossy.close()
  })

  it('422: makes a change once whose amount was edited after its answer was lost', async () => {
    const lossy = await openLossyConsole(services[0], services[1], await test.signedIn('admin'))
    const { browser } = lossy
    const path = pathOf(5, '/capture')
    const { html } = await browser.open(path)
    const send = (amount: string) => browser.post(path, { ...hiddenFields(html, path), amount, reference: '' })
    lossy.loseAnswers(true)
    await send('40')
    lossy.loseAnswers(false)
    for (const amount of ['30', '20']) {
      const page = await send(amount)
      expect([page.status, page.text]).toEqual([
        422,
        expect.stringContaining('This form was sent before with other values, which may have taken effect.'),
      ])
    }
    expect((await browser.open(pathOf(5))).text).toContain('Captured EUR 140.00 Pending EUR 160.00')
    await lossy.close()
  })

  it('503: advises to send the same form again, which does once, where the service answers nothing any more', async () => {
    const lossy = await openLossyConsole(services[0], services[1], await test.signedIn('admin'))
    const { browser } = lossy
    const path = pathOf(5, '/capture')
    const { html } = await browser.open(path)
    const send = () => browser.post(path, { ...hiddenFields(html, path), amount: '10', reference: '' })
    lossy.loseAnswers(true)
    await send()
    lossy.loseAnswers('all')
    const page = await send()
    expect([page.status, page.text]).toEqual([
      503,
      expect.stringContaining(
        'Payments does not answer. Its pages work again as soon as it does. The change may be made already. Reload this page to send the same form again: the change is made at most once.',
      ),
    ])
    lossy.loseAnswers(false)
    const done = await send()
    expect([done.path, toastOf(done.html)]).toEqual([pathOf(5), 'EUR 10.00 captured'])
    expect(done.text).toContain('Captured EUR 150.00 Pending EUR 150.00')
    await lossy.close()
  })

  it('422: keeps the key of a change that is refused, since an earlier try may run still', async () => {
    const browser = await test.signedIn('admin')
    const path = pathOf(5, '/capture')
    const keyOf = (html: string) => hiddenFields(html, path)._key
    const { html } = await browser.open(path)
    const page = await browser.submit(path, { amount: '199', reference: '' })
    expect([page.status, keyOf(page.html)]).toEqual([422, keyOf(html)])
  })
})
