import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COMPRESSIBLE, pageHeaders } from '../../test/headers.ts'
import { pageText } from '../../test/page-text.ts'
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
/** Returns the text of the page for a link that cannot be paid. */
const problemText = (reason: string) =>
  `This payment link does not work ${reason} Nothing was charged. Please ask the shop for a new link.`
/** Returns the text of the page that asks for an amount, in Danish. `problem` says what is wrong with the last amount. */
const amountText = (problem: string) =>
  `Testtilstand: der flyttes ingen penge. Betal til Corner &lt;Shop&gt; &amp; Co Hvor meget vil du betale? Beløb i EUR ${problem} Fortsæt`
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
    expect(pageText(body)).toBe(
      'Test mode: no money moves. Pay Corner &lt;Shop&gt; &amp; Co €10.99 Order 7 &lt;b&gt; Card number Visa and Mastercard Expiry date MM/YY Security code 3 digits on the back Pay €10.99 Your card details go straight to the payment service, never to the shop. Test card numbers 1000 0000 0000 0000 Paid, after approval with the bank 1000 0000 0001 0000 Paid, without approval 1000 0000 0000 0007 Declined: not enough money 1000 0000 0000 0031 Declined: 3-D Secure fails Any expiry date in the future and any security code will do. Your bank asks you to confirm Stop, and go back to the card',
    )
    for (const name of ['cc-number', 'cc-exp', 'cc-csc']) expect(body).toContain(`autocomplete="${name}"`)
    expect(body).not.toContain('id="consent"')
  })

  // ASVS 3.4.3, 3.4.5, 14.2.3
  it('200: has headers that let it load and send nothing elsewhere', async () => {
    const { statusCode, headers } = await open({ value: '10.99' })
    const checkout = "connect-src 'self' https://payments.example; frame-src 'self' https://payments.example"
    const forms = "form-action 'self' https://payments.example; base-uri 'none'; frame-ancestors 'none'"
    expect([statusCode, headers]).toEqual([200, pageHeaders(`${checkout}; ${forms}`, COMPRESSIBLE)])
  })

  // ASVS 1.2.3
  it('200: gives its script the order of the link', async () => {
    const { statusCode, body } = await open({
      value: '10.9',
      reference: 'R-1',
      text: 'T',
      recurring: 'y',
      currency: 'USD',
      locale: 'en_IE',
    })
    const json = /data-checkout="([^"]*)"/.exec(body)?.[1]?.replaceAll('&quot;', '"').replaceAll('&#39;', "'") ?? ''
    const { api, locale, order } = JSON.parse(json)
    expect(statusCode).toBe(200)
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
    expect([da.statusCode, da.body.includes('<html lang="da">'), pageText(da.body)]).toEqual([
      200,
      true,
      'Testtilstand: der flyttes ingen penge. Betal til Corner &lt;Shop&gt; &amp; Co 1.234,50 € Kortnummer Visa og Mastercard Udløbsdato MM/ÅÅ Sikkerhedskode 3 cifre på bagsiden Betal 1.234,50 € Dine kortoplysninger går direkte til betalingstjenesten, aldrig til butikken. Testkortnumre 1000 0000 0000 0000 Betales efter godkendelse hos banken 1000 0000 0001 0000 Betales uden godkendelse 1000 0000 0000 0007 Afvises: der er ikke penge nok 1000 0000 0000 0031 Afvises: 3-D Secure mislykkes Enhver fremtidig udløbsdato og enhver sikkerhedskode kan bruges. Din bank beder dig bekræfte Stop, og gå tilbage til kortet',
    ])
    const fr = await open({ value: '1234.5', locale: 'xx' }, { 'accept-language': 'ja, fr-CA;q=0.5' })
    expect([fr.statusCode, fr.body]).toEqual([200, expect.stringContaining('<html lang="fr">')])
  })

  it('200: asks for the amount when the link has none', async () => {
    const { statusCode, body } = await open({ currency: 'JPY' })
    expect([statusCode, pageText(body)]).toEqual([
      200,
      'Test mode: no money moves. Pay Corner &lt;Shop&gt; &amp; Co How much do you want to pay? Amount in JPY Continue',
    ])
    expect(body).not.toContain('cc-number')
  })

  it('400: asks for the amount when that of the link is malformed', async () => {
    const { statusCode, body } = await open({ value: '1,5', locale: 'de' })
    expect([statusCode, pageText(body)]).toEqual([
      400,
      'Testmodus: Es fließt kein Geld. An Corner &lt;Shop&gt; &amp; Co zahlen Wie viel möchten Sie zahlen? Betrag in EUR Geben Sie einen Betrag ein, zum Beispiel 25,00. Weiter',
    ])
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
    expect(pageText(body)).toBe(problemText(text))
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
    expect([statusCode, pageText(body)]).toEqual([400, problemText(text)])
  })

  it.each([
    ['text=caf%E9', 'The text of the link is too long.'],
    ['reference=%C0%AF', 'The reference of the link is too long.'],
    ['redirect=https://shop.example/%E2%82', 'The return address of the link is not valid.'],
  ])('400: refuses the link with %s, which is not UTF-8', async (parameter, text) => {
    const { statusCode, body } = await get(`/pos?key=${shop.key}&test=1&value=10.99&${parameter}`)
    expect([statusCode, pageText(body)]).toEqual([400, problemText(text)])
  })

  it('400: refuses a test link of a live merchant', async () => {
    const { statusCode, body } = await open({ key: String(live.key), value: '1' })
    expect([statusCode, pageText(body)]).toEqual([
      400,
      problemText('The link is for tests, but the shop takes real payments.'),
    ])
  })

  it('400: refuses a link of a merchant that takes no payments', async () => {
    const { statusCode, body } = await open({ key: String(live.key), test: '', value: '1' })
    expect([statusCode, pageText(body)]).toEqual([
      400,
      problemText('The shop does not take card payments at the moment.'),
    ])
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
    expect([statusCode, shown.statusCode, pageText(shown.body)]).toEqual([303, 400, amountText(text)])
  })

  it.each(['4111 1111 1111 1111', '5555-5555-5555-4444', '３７８２８２２４６３１０００５'])(
    '303: keeps the card number %j out of the address',
    async (amount) => {
      const { statusCode, headers } = await post({ link: link(), amount })
      expect([statusCode, headers.location]).toEqual([303, `/pos?${link()}&value=`])
    },
  )

  it('404: answers the link of an unknown merchant with a page', async () => {
    const { statusCode, body } = await post({ link: 'key=1', amount: '1' })
    expect([statusCode, pageText(body)]).toEqual([404, problemText('No shop is known by this link.')])
  })

  it('400: answers a faulty form with a page', async () => {
    for (const form of [
      { amount: '1' },
      { link: link(), amount: '0'.repeat(41) },
      { link: `${link()}&x=${'a'.repeat(8_192)}` },
    ]) {
      const { statusCode, headers, body } = await post(form)
      expect([statusCode, headers['content-type']]).toEqual([400, 'text/html; charset=utf-8'])
      expect(pageText(body)).toBe(
        'Something went wrong Please wait a moment and reload this page. You will not be charged twice.',
      )
    }
  })
})
