import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COMPRESSIBLE, pageHeaders } from '../../test/headers.ts'
import { createTestApp, createTestMerchant, startPayments, type TestPayments } from '../../test/payments-app.ts'

let payments: TestPayments
let shop: { id: string; key?: unknown }
let live: { id: string; key?: unknown }
beforeAll(async () => {
  payments = await startPayments()
  const app = await createTestApp(payments)
  shop = await createTestMerchant(payments, app, { name: 'Corner <Shop> & Co', currency: 'EUR', test: true })
  live = await createTestMerchant(payments, app, { currency: 'EUR', website: 'https://live.example/shop' })
})
afterAll(() => payments.close())

const get = (url: string, headers = {}) => payments.app.inject({ method: 'GET', url, headers })
const open = (parameters: Record<string, string> = {}, headers = {}) =>
  get(`/pos?${new URLSearchParams({ key: String(shop.key), test: '1', ...parameters })}`, headers)
const textOf = (page: string) => /<main>([\s\S]*)<\/main>/.exec(page)?.[1]?.replaceAll(/<[^>]*>/g, ' ') ?? ''
const post = (payload: Record<string, string>) =>
  payments.app.inject({
    method: 'POST',
    url: '/pos',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams(payload).toString(),
  })

describe('GET /pos', () => {
  it('200: asks for the card when the link has an amount', async () => {
    const { statusCode, headers, body } = await open({ value: '10.99', text: 'Order 7 <b>', locale: 'en_US' })
    expect([statusCode, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    expect(body).toContain('<html lang="en">')
    expect(body).toContain('<h1>Pay Corner &lt;Shop&gt; &amp; Co</h1>')
    expect(body).toContain('<p class="sum">€10.99</p>')
    expect(body).toContain('Order 7 &lt;b&gt;')
    expect(textOf(body)).toContain('Test mode: no money moves.')
    expect(textOf(body)).toContain('1000 0000 0000 0007  Declined: not enough money')
    expect(textOf(body)).toContain('Pay €10.99')
    for (const name of ['cc-number', 'cc-exp', 'cc-csc']) expect(body).toContain(`autocomplete="${name}"`)
    expect(body).not.toContain('id="consent"')
  })

  // ASVS 3.4.3, 3.4.5, 14.2.3
  it('200: has headers that let it load and send nothing elsewhere', async () => {
    const { headers } = await open({ value: '10.99' })
    const checkout = "connect-src 'self' https://payments.example; frame-src 'self' https://payments.example"
    const forms = "form-action 'self' https://payments.example; base-uri 'none'; frame-ancestors 'none'"
    expect(headers).toEqual(pageHeaders(`${checkout}; ${forms}`, COMPRESSIBLE))
  })

  // ASVS 1.2.3
  it('200: gives its script the order of the link', async () => {
    const { body } = await open({
      value: '10.9',
      reference: 'R-1',
      text: 'T',
      recurring: 'y',
      currency: 'USD',
      locale: 'en_IE',
    })
    const json = /data-checkout="([^"]*)"/.exec(body)?.[1]?.replaceAll('&quot;', '"').replaceAll('&#39;', "'") ?? ''
    const { api, locale, order } = JSON.parse(json)
    expect({ api, locale, order }).toEqual({
      api: 'https://payments.example',
      locale: 'en-IE',
      order: {
        integration: { key: shop.key },
        test: {},
        amount: { currency: 'USD', exponent: 2, value: 1_090 },
        custom: { reference: 'R-1', text: 'T' },
        unplanned: { merchant: true, customer: true },
      },
    })
    expect(body).toContain('By paying you allow Corner &lt;Shop&gt; &amp; Co to charge this card again')
  })

  it('200: is in the language of the link, else of the browser', async () => {
    const da = await open({ value: '1234.5', locale: 'da_DK' }, { 'accept-language': 'fr' })
    expect([da.body.includes('<html lang="da">'), textOf(da.body).includes('Betal 1.234,50\u00a0€')]).toEqual([
      true,
      true,
    ])
    const fr = await open({ value: '1234.5', locale: 'xx' }, { 'accept-language': 'ja, fr-CA;q=0.5' })
    expect(fr.body).toContain('<html lang="fr">')
  })

  it('200: asks for the amount when the link has none', async () => {
    const { statusCode, body } = await open({ currency: 'JPY' })
    expect([statusCode, textOf(body).includes('Amount in JPY')]).toEqual([200, true])
    expect(body).not.toContain('cc-number')
  })

  it('400: asks for the amount when that of the link is malformed', async () => {
    const { statusCode, body } = await open({ value: '1,5', locale: 'de' })
    expect([statusCode, textOf(body).includes('Geben Sie einen Betrag ein, zum Beispiel 25,00.')]).toEqual([400, true])
    expect(body).toContain('value="1,5" aria-describedby="amount-error amount-hint" aria-invalid="true"')
  })

  it.each([
    [400, '', 'The link does not say whom to pay.'],
    [400, 'key=', 'The link does not say whom to pay.'],
    [404, 'key=nobody', 'No shop is known by this link.'],
    [404, 'key=00000000-0000-4000-8000-000000000000', 'No shop is known by this link.'],
    [404, 'key=%00&currency=%00', 'No shop is known by this link.'],
    [404, 'key=%FF%', 'No shop is known by this link.'],
  ])('%i: says of the link %j: %s', async (status, parameters, text) => {
    const { statusCode, headers, body } = await get(`/pos?${parameters}`)
    expect([statusCode, headers['content-type']]).toEqual([status, 'text/html; charset=utf-8'])
    expect(textOf(body)).toContain(text)
  })

  it.each([
    [{ test: '' }, 'The link is for real payments, but the shop is set up for tests.'],
    [{ currency: 'HRK' }, 'The currency of the link is not supported.'],
    [{ currency: 'E\0R' }, 'The currency of the link is not supported.'],
    [{ redirect: 'javascript:alert(1)' }, 'The return address of the link is not valid.'],
    [{ reference: 'a'.repeat(256) }, 'The reference of the link is too long.'],
    [{ text: 'a'.repeat(256) }, 'The text of the link is too long.'],
  ])('400: refuses the link with %j', async (parameters, text) => {
    const { statusCode, body } = await open({ value: '1', ...parameters })
    expect([statusCode, textOf(body).includes(text)]).toEqual([400, true])
  })

  it('400: refuses test links of live merchants, and merchants that take no payments', async () => {
    const mixed = await open({ key: String(live.key), value: '1' })
    expect([mixed.statusCode, textOf(mixed.body).includes('the shop takes real payments')]).toEqual([400, true])
    const closed = await open({ key: String(live.key), test: '', value: '1' })
    expect([closed.statusCode, textOf(closed.body).includes('does not take card payments')]).toEqual([400, true])
  })
})

describe('POST /pos', () => {
  const link = () => `key=${shop.key}&test=1&locale=da`

  it('303: puts the amount into the link', async () => {
    const { statusCode, headers } = await post({ link: link(), amount: '1.234,5' })
    expect([statusCode, headers.location]).toEqual([303, `/pos?${link()}&value=1234.50`])
  })

  it.each([
    ['1.000', 'Indtast et beløb, for eksempel 25,00.'],
    ['<b>', 'Indtast et beløb, for eksempel 25,00.'],
    ['99999999999', 'Beløbet er for stort.'],
  ])('303: redirects to the link, which says that %j is no amount', async (amount, text) => {
    const { statusCode, headers } = await post({ link: link(), amount })
    const shown = await get(String(headers.location))
    expect([statusCode, shown.statusCode, textOf(shown.body).includes(text)]).toEqual([303, 400, true])
  })

  it('404, 400: answers a faulty link or form with a page', async () => {
    const unknown = await post({ link: 'key=1', amount: '1' })
    expect([unknown.statusCode, textOf(unknown.body)]).toEqual([
      404,
      expect.stringContaining('No shop is known by this link.'),
    ])
    for (const form of [
      { amount: '1' },
      { link: link(), amount: '0'.repeat(41) },
      { link: `${link()}&x=${'a'.repeat(8_192)}` },
    ]) {
      const { statusCode, headers, body } = await post(form)
      expect([statusCode, headers['content-type']]).toEqual([400, 'text/html; charset=utf-8'])
      expect(textOf(body)).toContain('Something went wrong')
    }
  })
})
