import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { paidOrder } from '../../../test/bodies.ts'
import { type Browser, browse, createOrder, hintsOf, walk } from '../../../test/customer.ts'
import { COMPRESSIBLE, pageHeaders } from '../../../test/headers.ts'
import { pageText } from '../../../test/page-text.ts'
import { createTestApp, createTestMerchant, startPayments, type TestPayments } from '../../../test/payments-app.ts'

let payments: TestPayments
let browser: Browser
let merchant: { id: string; key?: unknown }
beforeAll(async () => {
  payments = await startPayments()
  browser = browse(payments)
  const app = await createTestApp(payments)
  merchant = await createTestMerchant(payments, app, { currency: 'EUR', test: true, name: '<Coffee> & "John"' })
})
afterAll(() => payments.close())

const RETURN_URL = 'https://shop.example:8443/back?order=1&a=%22#top'

interface Opened {
  readonly order: object
  readonly hints: readonly string[]
  /** The state in the URL of the bank's page. */
  readonly state: string
}

/** Opens a payment and brings its customer to the page of the bank. */
async function open(
  way: 'iframe' | 'redirect',
  headers: Record<string, string> = {},
  returnUrl = RETURN_URL,
): Promise<Opened> {
  const order = await createOrder(browser, {
    key: merchant.key,
    returnUrl,
    number: '1000000000001234',
    amount: { currency: 'EUR', exponent: 2, value: 123_456 },
  })
  const { hints } = await walk(browser, order, { until: 'tds-fingerprint' })
  await browser.send('/payments', { ...order, hints })
  const path = `/payments/challenges/tds-challenge${way === 'iframe' ? '' : '/redirect'}`
  const { body } = await browser.send(path, { ...order, hints }, headers)
  const state = body.fields?.state ?? new URL(body.url).searchParams.get('state') ?? ''
  return { order, hints: [...hints, ...body.hints], state }
}

const get = (state: string, headers = {}) =>
  payments.app.inject({ method: 'GET', url: '/acs/challenge', query: { state }, headers })
const post = (fields: Record<string, string>, headers = {}) =>
  payments.app.inject({
    method: 'POST',
    url: '/acs/challenge',
    payload: new URLSearchParams(fields).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  })
const headersOf = (formTargets = '', differences = {}) =>
  pageHeaders(`form-action 'self'${formTargets}; base-uri 'none'; frame-ancestors *`, differences)

/** The text of the page on which the customer decides, by language. */
const TEXTS: Readonly<Record<string, string>> = {
  en: 'This bank is simulated: no money moves. Approve the payment? €1,234.56 Shop &lt;Coffee&gt; &amp; &quot;John&quot; Card •••• 1234 Approve Decline',
  da: 'Banken er simuleret: der flyttes ingen penge. Vil du godkende betalingen? 1.234,56 € Butik &lt;Coffee&gt; &amp; &quot;John&quot; Kort •••• 1234 Godkend Afvis',
}
/** The page for a state that this service did not create. */
const LOST = 'This payment is not known here Its link is incomplete or too old. Go back to the shop and begin again.'
/** The page that leads back to the shop. */
const RETURN =
  'Done The shop is at shop.example:8443. This service is for tests, and does not know who runs it. Back to the shop'

describe('POST /acs/challenge', () => {
  // ASVS 3.2.1, 3.4.4, 3.4.5, 14.2.3
  it('200: shows shop, amount and card, loads nothing from elsewhere, and sets no cookie', async () => {
    const { state } = await open('iframe')
    const page = await post({ state })
    expect(page.statusCode).toBe(200)
    expect(page.headers).toEqual(headersOf('', COMPRESSIBLE))
    expect(pageText(page.body)).toBe(TEXTS.en)
    expect(page.body).not.toMatch(/https?:|<script|style="| on\w+=/)
  })

  it.each([
    ['da-DK,da;q=0.9,en;q=0.8', 'fr', 'da'],
    // A merchant's server may run the checkout and name no language that the service has. Then the browser's language decides.
    [undefined, 'da', 'da'],
    ['*', 'is, da;q=0.5', 'da'],
    ['xx-invalid-locale-tag', '', 'en'],
  ])('200: speaks, where %j pays and %j reads, %s', async (paying, reading, language) => {
    const { state } = await open('iframe', paying === undefined ? {} : { 'accept-language': paying })
    const page = await post({ state }, { 'accept-language': reading })
    expect(page.statusCode).toBe(200)
    expect(page.body).toContain(`<html lang="${language}">`)
    expect(pageText(page.body)).toBe(TEXTS[language])
  })

  it('200: sends the decision of the customer to the page that asked, and to no other page', async () => {
    const { order, hints, state } = await open('iframe', { origin: 'https://shop.example' })
    // A merchant's server that polls in between sends no origin.
    await browser.send('/payments/challenges/tds-challenge/poll', { ...order, hints })
    const page = await post({ state, decision: 'approve' })
    expect(page.statusCode).toBe(200)
    expect(page.body).toContain('data-origin="https://shop.example"')
    expect(page.body).toContain('<script type="module" src="/assets/conclude.js"></script>')
    expect(hintsOf(page.body)).toHaveLength(1)
    // Only the first decision counts.
    await post({ state, decision: 'decline' })
    const paid = await browser.send('/payments', { ...order, hints: [...hints, ...hintsOf(page.body)] })
    expect([paid.status, paid.body]).toEqual(paidOrder)
    expect(hintsOf((await post({ state })).body)).toHaveLength(1)
  })

  it.each(['null', 'shop.example', 'javascript:alert(1)', 'https://shop.example/path', '"><script>'])(
    '200: sends the decision to any page when the browser names the origin %j',
    async (origin) => {
      const { state } = await open('iframe', { origin })
      const { statusCode, body } = await post({ state, decision: 'approve' })
      expect([statusCode, body]).toEqual([200, expect.stringContaining('data-origin="*"')])
    },
  )

  it('400: refuses an unknown state, and one of another kind', async () => {
    const { state, hints } = await open('iframe')
    const last = state.at(-3) === 'A' ? 'B' : 'A'
    for (const each of ['', 'x', hints[0] ?? '', state.slice(4), state.slice(0, -3) + last + state.slice(-2)]) {
      for (const page of [await post({ state: each, decision: 'approve' }), await get(each)]) {
        expect([page.statusCode, page.headers['content-type']]).toEqual([400, 'text/html; charset=utf-8'])
        expect(pageText(page.body)).toBe(LOST)
      }
    }
    for (const page of [await post({ state, decision: 'perhaps' }), await post({})]) {
      expect([page.statusCode, page.headers['content-type']]).toEqual([400, 'text/html; charset=utf-8'])
      expect(pageText(page.body)).toBe(LOST)
    }
  })
})

describe('GET /acs/challenge', () => {
  it.each([
    ['approve', 201],
    ['decline', 400],
  ])(
    '200: names the host before it leads back to it after %s, where the order ends with %i',
    async (decision, status) => {
      const { order, hints, state } = await open('redirect')
      const page = await get(state)
      expect([page.statusCode, page.headers]).toEqual([200, headersOf('', COMPRESSIBLE)])
      expect(pageText(page.body)).toBe(TEXTS.en)
      expect((await browser.send('/payments', { ...order, hints })).body.challenges).toHaveLength(3)
      const back = await post({ state, decision })
      for (const shown of [back, await get(state)]) {
        expect([shown.statusCode, shown.headers.location]).toEqual([200, undefined])
        expect(pageText(shown.body)).toBe(RETURN)
        expect(shown.body).toContain(
          `<a class="button" href="${RETURN_URL.replaceAll('&', '&amp;')}">Back to the shop</a>`,
        )
        expect(shown.body).not.toMatch(/<script|http-equiv="refresh"/)
      }
      const end = await browser.send('/payments', { ...order, hints })
      expect(end.status).toBe(status)
      if (status === 400) expect(end.body).toEqual({ code: 'TDSECURE_FAILED', message: '3-D Secure failed' })
    },
  )

  it.each([
    ['https://shop.example/caf\u00e9?\u2603#\u{1f600}', 'https://shop.example/caf%C3%A9?%E2%98%83#%F0%9F%98%80'],
    ['https://shop.example/\u0001\u007f', 'https://shop.example/%01%7F'],
    ['HTTPS://M\u00fcller.example', 'https://xn--mller-kva.example/'],
  ])('200: links back to %j, normalised like in a browser', async (returnUrl, location) => {
    const { state } = await open('redirect', {}, returnUrl)
    const back = await post({ state, decision: 'approve' })
    expect([back.statusCode, back.body.includes(`<a class="button" href="${location}">`)]).toEqual([200, true])
    expect(back.headers).toEqual(headersOf())
  })

  it('303: redirects to our own page of payment links at once', async () => {
    const own = 'https://payments.example/pos/pay/x?key=1'
    const { state } = await open('redirect', {}, own)
    const back = await post({ state, decision: 'approve' })
    expect([back.statusCode, back.headers]).toEqual([
      303,
      headersOf(' https://payments.example', { location: own, 'content-length': '0' }),
    ])
  })

  it('200: links back when it is too late', async () => {
    const { state } = await open('redirect')
    await payments.database.db.updateTable('payment_sessions').set({ expires: new Date() }).execute()
    const page = await post({ state, decision: 'approve' })
    expect(page.statusCode).toBe(200)
    expect(pageText(page.body)).toBe(
      'It is too late to approve this payment The shop is at shop.example:8443. This service is for tests, and does not know who runs it. Back to the shop',
    )
    expect(page.body).toContain(
      '<a class="button" href="https://shop.example:8443/back?order=1&amp;a=%22#top">Back to the shop</a>',
    )
  })
})
