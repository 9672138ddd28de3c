import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { shownTransaction } from '../../../test/bodies.ts'
import { browse, createOrder, walk } from '../../../test/customer.ts'
import { pageText } from '../../../test/page-text.ts'
import {
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
} from '../../../test/payments-app.ts'
import { createStubAcquirer } from '../../../test/stub-acquirer.ts'

/** The bank asks the customer for no challenge with this card. */
const FRICTIONLESS = '1000000000010000'
const CHALLENGED = '1000000000000000'

const logged: string[] = []
const north = createStubAcquirer()
let payments: TestPayments
let app: TestApp
let merchant: { id: string; key?: unknown }
beforeAll(async () => {
  payments = await startPayments({
    trustedProxies: 1,
    onLog: (line) => logged.push(JSON.stringify(line)),
    acquirers: new Map([['north', north]]),
  })
  app = await createTestApp(payments)
  merchant = await createTestMerchant(payments, app, { name: 'Shop', currency: 'EUR', test: true })
})
afterAll(() => payments.close())

const linkOf = (changes = {}) => new URLSearchParams({ key: String(merchant.key), test: '1', value: '10', ...changes })
const inject = (method: 'GET' | 'POST', url: string, form: Record<string, string> = {}, cookie = '') =>
  payments.app.inject({
    method,
    url,
    headers: { cookie, 'content-type': 'application/x-www-form-urlencoded' },
    payload: method === 'GET' ? '' : new URLSearchParams(form).toString(),
  })
/** Returns the card form of a link, as a browser without JavaScript submits it. */
async function formOf(link = linkOf(), changes: Record<string, string> = {}) {
  const { body } = await inject('GET', `/pos?${link}`)
  const page = /name="page" value="([^"]+)"/.exec(body)?.[1] ?? ''
  return { link: link.toString(), page, number: FRICTIONLESS, expiry: '08/66', code: '111', ...changes }
}
/** Pays like the script of the page. Returns the form that the script then submits. */
async function payByScript(link: URLSearchParams) {
  const [browser, { body }] = [browse(payments), await inject('GET', `/pos?${link}`)]
  const checkout = /data-checkout="([^"]+)"/.exec(body)?.[1] ?? ''
  const { card } = await createOrder(browser, { key: merchant.key })
  const { order } = JSON.parse(checkout.replaceAll('&quot;', '"').replaceAll('&amp;', '&'))
  const paid = await walk(browser, { ...order, card })
  const { number, code, expiry } = card
  const tokens = { number: number.token, code: code.token, expiry, hints: paid.hints }
  const { page } = await formOf(link)
  const form = { link: link.toString(), page, expiry: '08/66', card: JSON.stringify(tokens) }
  return { form, transactionId: String(paid.body.transactionId) }
}
const pay = async (link = linkOf(), changes = {}) => inject('POST', '/pos/pay', await formOf(link, changes))
const transactions = async (merchantId = merchant.id) =>
  (
    await payments.app.inject({
      method: 'GET',
      url: `/merchants/${merchantId}/transactions?limit=1000`,
      headers: app.headers,
    })
  ).json()

const HTML = 'text/html; charset=utf-8'
/** The text of a refusal that has nothing to do with the card. */
const NOTHING_CHARGED = 'This payment cannot be made at the moment. Nothing was charged. Please contact the shop.'
const AUGUST_2066 = { month: 8, year: 2066 }
const LATE = 'That took too long. Please enter your card again.'
const TOO_LATE = `Something went wrong ${LATE} Back to the payment`
type FieldName = 'number' | 'expiry' | 'code'
/** The text of the card form in test mode, with the message about the last card, repeated at its `field`. */
const formText = (alert: string, { shop = 'Shop', field }: { shop?: string; field?: FieldName | undefined } = {}) =>
  `Test mode: no money moves. Pay ${shop} €10.00 ${alert} Card number Visa and Mastercard ${field === 'number' ? `${alert} ` : ''}Expiry date MM/YY ${field === 'expiry' ? `${alert} ` : ''}Security code 3 digits on the back ${field === 'code' ? `${alert} ` : ''}Pay €10.00 Your card details go straight to the payment service, never to the shop. Test card numbers 1000 0000 0000 0000 Paid, after approval with the bank 1000 0000 0001 0000 Paid, without approval 1000 0000 0000 0007 Declined: not enough money 1000 0000 0000 0031 Declined: 3-D Secure fails Any expiry date in the future and any security code will do. Your bank asks you to confirm Stop, and go back to the card`
/** The text of a receipt for ten euros. `text` and `reference` end with a space if the link has them. */
const receiptText = (
  paid: { id: string; created: string },
  { notice = 'Test mode: no money moves. ', text = '', shop = 'Shop', reference = '', last4 = '0000' } = {},
) =>
  `${notice}Your payment was received €10.00 ${text}Shop ${shop} Date ${paid.created.slice(0, 16)} ${reference}Card •••• ${last4} Transaction ${paid.id} ${shop} can see the payment. Print or save this page as your receipt. Print`
/** Returns the values in the fields of a card form. An empty field is `undefined`. */
const valuesOf = (body: string) =>
  Object.fromEntries(
    ['number', 'expiry', 'code'].map((name) => [
      name,
      new RegExp(`<input id="${name}"[^>]* value="([^"]*)"`, 's').exec(body)?.[1],
    ]),
  )
/** Returns the text of a receipt. The time in words is replaced by the date, hour and minute in UTC. */
const receiptOf = (body: string) => pageText(body.replace(/<time datetime="([^"]*):[^"]*">[^<]*<\/time>/, '$1'))
/** The text of the page for an error that the customer cannot correct. */
const FAILED = 'Something went wrong Please wait a moment and reload this page. You will not be charged twice.'

describe('POST /pos/pay', () => {
  it('303: pays, and shows a receipt', async () => {
    const { statusCode, headers } = await pay(linkOf({ reference: 'R-1', text: 'T', recurring: 'y' }))
    expect(statusCode).toBe(303)
    const [paid] = await transactions()
    expect(paid).toEqual(
      shownTransaction({
        merchantId: merchant.id,
        currency: 'EUR',
        amount: 1_000,
        descriptor: 'Coffee & John',
        pendingAmount: 1_000,
        successful: true,
        reference: 'R-1',
        custom: { reference: 'R-1', text: 'T' },
        tds: 'full',
        unplanned: { merchant: true, customer: true },
      }),
    )
    const receipt = await inject('GET', String(headers.location))
    expect([receipt.statusCode, receiptOf(receipt.body)]).toEqual([
      200,
      receiptText(paid, { text: 'T ', reference: 'Reference R-1 ' }),
    ])
  })

  it('200: names the host of a test link’s redirect, and goes there only at a click', async () => {
    const { statusCode, headers, body } = await pay(
      linkOf({ redirect: 'https://shop.example/done?order=1#top', text: 'Two bags' }),
    )
    const [paid] = await transactions()
    const address = `https://shop.example/done?order=1&amp;transactionId=${paid.id}#top`
    expect([statusCode, pageText(body), body.includes(`href="${address}"`)]).toEqual([
      200,
      'Test mode: no money moves. Your payment was received €10.00 Two bags Shop Shop The shop is at shop.example. Back to the shop',
      true,
    ])
    expect(body).not.toMatch(/<script|http-equiv="refresh"/)
    expect(headers['content-security-policy']).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    )
  })

  it('303: pays once when the form is sent many times', async () => {
    const before = (await transactions()).length
    const form = await formOf()
    const answers = await Promise.all(Array.from({ length: 10 }, () => inject('POST', '/pos/pay', form)))
    const again = await inject('POST', '/pos/pay', form)
    expect([...answers, again].map(({ statusCode }) => statusCode)).toEqual(Array.from({ length: 11 }, () => 303))
    const shown = await Promise.all(
      [...answers, again].map(async ({ headers }) => receiptOf((await inject('GET', String(headers.location))).body)),
    )
    const [paid, ...earlier] = await transactions()
    expect([new Set(shown), earlier.length]).toEqual([new Set([receiptText(paid)]), before])
  })

  it.each<[string, string, FieldName | undefined]>([
    ['1000000000000003', 'This card number is not accepted. Check it, or use another card.', 'number'],
    ['1000000000000004', 'The security code is not correct.', 'code'],
    ['1000000000000006', 'This card has expired. Use another card.', 'expiry'],
    ['1000000000000007', 'Your bank declined the payment. Use another card, or ask your bank.', undefined],
    ['1000000000000012', 'The payment did not succeed. Try again, or use another card.', undefined],
    ['9000000000000000', 'This card number is not accepted. Check it, or use another card.', 'number'],
  ])('400: asks for another card after %s', async (number, text, field) => {
    const first = await pay(linkOf(), { number })
    // For cards with these numbers the bank asks for approval before the refusal, unless the scheme is unknown.
    const { statusCode, body } = first.statusCode === 303 ? await approve(first) : first
    expect([statusCode, pageText(body)]).toEqual([400, formText(text, { field })])
    expect(valuesOf(body)).toEqual({ number: undefined, expiry: '08/66', code: undefined })
    expect([body.includes(number), body.includes('111"')]).toEqual([false, false])
    if (field) expect(body).toMatch(new RegExp(`id="${field}"[^>]*aria-invalid="true" autofocus`))
    const [refused] = await transactions()
    expect(refused.successful).toBe(false)
  })

  it('303: leads to a bank that speaks the language of the page', async () => {
    const { statusCode, headers } = await pay(linkOf({ value: '1234.5', locale: 'de_AT' }), { number: CHALLENGED })
    expect(statusCode).toBe(303)
    const { pathname, search } = new URL(String(headers.location))
    expect(pageText((await inject('GET', pathname + search)).body)).toBe(
      'Diese Bank ist simuliert: Es fließt kein Geld. Zahlung freigeben? € 1.234,50 Händler Shop Karte •••• 0000 Freigeben Ablehnen',
    )
  })

  it('400: names the fields that are wrong, and does not pay', async () => {
    const before = (await transactions()).length
    const { statusCode, body } = await pay(linkOf({ locale: 'da' }), { number: '12', expiry: '<08/20', code: '' })
    expect([statusCode, pageText(body)]).toEqual([
      400,
      'Testtilstand: der flyttes ingen penge. Betal til Shop 10,00 € Nogle felter skal rettes. Kortnummer Visa og Mastercard Indtast kortnummeret, 10 til 19 cifre. Udløbsdato MM/ÅÅ Indtast udløbsdatoen som på kortet, for eksempel 08/30. Sikkerhedskode 3 cifre på bagsiden Indtast de 3 cifre på bagsiden af kortet. Betal 10,00 € Dine kortoplysninger går direkte til betalingstjenesten, aldrig til butikken. Testkortnumre 1000 0000 0000 0000 Betales efter godkendelse hos banken 1000 0000 0001 0000 Betales uden godkendelse 1000 0000 0000 0007 Afvises: der er ikke penge nok 1000 0000 0000 0031 Afvises: 3-D Secure mislykkes Enhver fremtidig udløbsdato og enhver sikkerhedskode kan bruges. Din bank beder dig bekræfte Stop, og gå tilbage til kortet',
    ])
    expect(valuesOf(body)).toEqual({ number: undefined, expiry: '&lt;08/20', code: undefined })
    expect((await transactions()).length).toBe(before)
  })

  it('303: shows a payment that the script has finished, also again', async () => {
    const { form, transactionId } = await payByScript(linkOf())
    for (let sent = 0; sent < 2; sent++) {
      const { statusCode, headers } = await inject('POST', '/pos/pay', form)
      const receipt = await inject('GET', String(headers.location))
      const [paid] = await transactions()
      expect([statusCode, paid.id, receiptOf(receipt.body)]).toEqual([303, transactionId, receiptText(paid)])
    }
  })

  it('303: shows the payment of the card that is sent again, under any link', async () => {
    const { form: scripted, transactionId } = await payByScript(linkOf({ reference: 'ORDER-A' }))
    const { link, page } = await formOf(linkOf({ reference: 'ORDER-B' }))
    const answer = await inject('POST', '/pos/pay', { ...scripted, link, page })
    expect(answer.statusCode).toBe(303)
    const receipt = receiptOf((await inject('GET', String(answer.headers.location))).body)
    const [scriptPaid] = await transactions()
    expect([scriptPaid.id, receipt]).toEqual([
      transactionId,
      receiptText(scriptPaid, { reference: 'Reference ORDER-A ' }),
    ])
  })

  it.each([
    ['another number', { number: '2000000000001234' }],
    ['another expiry date', { expiry: '09/66' }],
    ['tokens that are none', { card: JSON.stringify({ number: 'x', code: 'y', expiry: AUGUST_2066, hints: [] }) }],
  ])('400: shows no receipt to somebody who knows page and link, and sends %s', async (_, changes) => {
    const form = await formOf()
    await inject('POST', '/pos/pay', form)
    const before = await transactions()
    const { statusCode, headers, body } = await inject('POST', '/pos/pay', { ...form, ...changes })
    expect([statusCode, headers.location, headers['set-cookie']]).toEqual([400, undefined, undefined])
    expect(pageText(body)).toBe(formText(NOTHING_CHARGED))
    expect(body).not.toContain(before[0].id)
    expect(await transactions()).toEqual(before)
  })

  it('400: redirects only to the page of the link that was paid', async () => {
    const redirectOf = (order: string) => linkOf({ redirect: `https://shop.example/done?order=${order}` })
    const { form, transactionId } = await payByScript(redirectOf('A'))
    const before = (await transactions()).length
    for (const other of [redirectOf('B'), linkOf()]) {
      const { link, page } = await formOf(other)
      const { statusCode, body } = await inject('POST', '/pos/pay', { ...form, link, page })
      expect([statusCode, pageText(body)]).toEqual([400, formText(LATE)])
      expect(body).not.toContain(transactionId)
    }
    const { statusCode, body } = await inject('POST', '/pos/pay', form)
    expect([statusCode, body.includes(`/done?order=A&amp;transactionId=${transactionId}`)]).toEqual([200, true])
    expect((await transactions()).length).toBe(before)
  })

  /** Revokes a merchant's permission to charge cards. */
  const forbidCharges = (id: string) =>
    payments.database.db
      .updateTable('merchants')
      .set({ claim: sql`claim || '{"canChargeCard":false}'` })
      .where('id', '=', id)
      .execute()

  it('303: shows a payment of a merchant that may no longer charge', async () => {
    const closing = await createTestMerchant(payments, app, { currency: 'EUR', test: true })
    const paid = await formOf(linkOf({ key: closing.key }))
    const before = await inject('POST', '/pos/pay', paid)
    await forbidCharges(closing.id)
    const after = await inject('POST', '/pos/pay', paid)
    expect([before.statusCode, after.statusCode]).toEqual([303, 303])
    const receipts = await Promise.all([before, after].map(({ headers }) => inject('GET', String(headers.location))))
    expect(pageText(receipts[1]?.body ?? '')).toBe(pageText(receipts[0]?.body ?? '-'))
  })

  it('400: begins no payment of a merchant that may no longer charge', async () => {
    const closing = await createTestMerchant(payments, app, { currency: 'EUR', test: true })
    const late = await formOf(linkOf({ key: closing.key }))
    await forbidCharges(closing.id)
    const { statusCode, body } = await inject('POST', '/pos/pay', late)
    expect([statusCode, pageText(body)]).toEqual([
      400,
      formText('This payment cannot be made at the moment. Nothing was charged. Please contact the shop.', {
        shop: 'example.com',
      }),
    ])
  })

  it('400: refuses malformed tokens', async () => {
    const { link, page } = await formOf()
    for (const card of ['{', '{}', '{"number":"a","code":"b","expiry":{"month":1,"year":2066},"hints":[]}']) {
      const { statusCode, body } = await inject('POST', '/pos/pay', { link, page, card })
      expect([statusCode, pageText(body)]).toEqual([400, formText(LATE)])
    }
  })

  it.each([
    [
      404,
      { link: 'key=1' },
      'This payment link does not work No shop is known by this link. Nothing was charged. Please ask the shop for a new link.',
    ],
    [400, { page: 'short' }, FAILED],
    [400, { link: '' }, FAILED],
  ])('%i: refuses %j, as a page', async (status, changes, text) => {
    const { statusCode, headers, body } = await pay(linkOf(), changes)
    expect([statusCode, headers['content-type'], pageText(body)]).toEqual([status, HTML, text])
  })

  it('429: refuses beyond the rate of an address, as a page', async () => {
    const limited = await startPayments({ rateLimits: { checkoutsPerSecond: 1 } })
    const url = '/pos/pay?key=1'
    const answers = await Promise.all(Array.from({ length: 20 }, () => limited.app.inject({ method: 'GET', url })))
    await limited.close()
    const refused = answers.find(({ statusCode }) => statusCode === 429)
    expect([refused?.headers['content-type'], Number(refused?.headers['retry-after']) > 0]).toEqual([HTML, true])
    expect(pageText(refused?.body ?? '')).toBe(FAILED)
  })
})

/** Submits a decision at the bank and follows its redirect. */
async function approve(answer: Awaited<ReturnType<typeof inject>>, decision = 'approve'): ReturnType<typeof inject> {
  const bank = new URL(String(answer.headers.location))
  const { headers: decided } = await inject('POST', bank.pathname, {
    state: bank.searchParams.get('state') ?? '',
    decision,
  })
  const back = new URL(String(decided.location))
  const { path, cookie } = cookieOf(answer)
  return inject('GET', back.pathname + back.search, {}, back.pathname === path ? cookie : '')
}

describe('GET /pos/pay/:pageId', () => {
  // ASVS 3.3.2, 3.3.4, 14.3.3
  it('303: pays after the return from the bank, and shows the receipt again', async () => {
    const first = await pay(linkOf(), { number: CHALLENGED })
    expect(String(first.headers.location)).toMatch(/^https:\/\/payments\.example\/acs\/challenge\?state=/)
    expect(String(first.headers['set-cookie'])).toMatch(
      /^card=[\w+/=]+; Path=\/pos\/pay\/[\w-]{22}; HttpOnly; SameSite=Lax; Max-Age=1800$/,
    )
    const before = (await transactions()).length
    const [one, two] = [await approve(first), await approve(first)]
    expect([one.statusCode, two.statusCode]).toEqual([303, 303])
    const shown = await Promise.all([one, two].map(({ headers }) => inject('GET', String(headers.location))))
    expect(pageText(shown[0]?.body ?? '')).toBe(pageText(shown[1]?.body ?? '-'))
    expect((await transactions()).length).toBe(before + 1)
  })

  it('303: deletes the card from the browser after the payment, and still shows the payment', async () => {
    const first = await pay(linkOf(), { number: CHALLENGED })
    const [, cookies] = [await approve(first), await approve(first)].map(({ headers }) => headers['set-cookie'])
    const [card = '', paid = ''] = Array.isArray(cookies) ? cookies : []
    expect(card).toMatch(/^card=; Path=\/pos\/pay\/[\w-]{22}; HttpOnly; SameSite=Lax; Max-Age=0$/)
    expect(paid).toMatch(/^paid=[\w+/=]+; Path=\/pos\/pay\/[\w-]{22}; HttpOnly; SameSite=Lax; Max-Age=1800$/)
    const before = (await transactions()).length
    const { path } = cookieOf(first)
    const again = await inject('GET', `${path}?${linkOf()}`, {}, paid.split(';')[0])
    const { body } = await inject('GET', String(again.headers.location))
    expect([again.statusCode, pageText(body).includes('Your payment was received')]).toEqual([303, true])
    for (const address of [
      `${path}?${linkOf({ redirect: 'https://shop.example/done' })}`,
      `/pos/pay/${'a'.repeat(22)}?${linkOf()}`,
    ]) {
      const elsewhere = await inject('GET', address, {}, paid.split(';')[0])
      expect([elsewhere.statusCode, pageText(elsewhere.body)]).toEqual([400, TOO_LATE])
    }
    expect((await transactions()).length).toBe(before)
  })

  it('400: asks for another card after the customer has declined, also again', async () => {
    const first = await pay(linkOf(), { number: CHALLENGED })
    // Only the first decision has an effect.
    for (const decision of ['decline', 'approve']) {
      const { statusCode, body } = await approve(first, decision)
      expect([statusCode, pageText(body).includes('The payment was not approved with your bank.')]).toEqual([400, true])
    }
  })

  it('303: redirects to the bank again while the customer has not answered', async () => {
    const { path, cookie } = cookieOf(await pay(linkOf(), { number: CHALLENGED }))
    const { statusCode, headers } = await inject('GET', `${path}?${linkOf()}`, {}, cookie)
    expect([statusCode, String(headers.location).includes('/acs/challenge?')]).toEqual([303, true])
  })

  it('303: pays in two windows at once, each for itself', async () => {
    const links = [linkOf({ value: '1' }), linkOf({ value: '2' })]
    const windows = await Promise.all(links.map((link) => pay(link, { number: CHALLENGED })))
    expect(new Set(windows.map((each) => cookieOf(each).path)).size).toBe(2)
    for (const each of windows.toReversed()) expect((await approve(each)).statusCode).toBe(303)
    expect((await transactions()).slice(0, 2).map(({ amount }: { amount: number }) => amount)).toEqual([100, 200])
  })

  it('400: leads back to the link when the browser has no cookie', async () => {
    for (const path of ['/pos/pay', `/pos/pay/${'a'.repeat(22)}`]) {
      for (const cookie of ['', 'card=', 'card=Zm9v; other=1']) {
        const { statusCode, body } = await inject('GET', `${path}?${linkOf()}`, {}, cookie)
        const [, again] = /<a [^>]*href="([^"]*)"/.exec(body) ?? []
        expect([statusCode, pageText(body), again]).toEqual([
          400,
          TOO_LATE,
          `https://payments.example/pos?${linkOf()}`.replaceAll('&', '&amp;'),
        ])
      }
    }
  })

  // ASVS 3.5.1
  it('400: accepts the card for no other link and no other page', async () => {
    const { path, cookie } = cookieOf(await pay(linkOf(), { number: CHALLENGED }))
    const other = await createTestMerchant(payments, app, { currency: 'EUR', test: true })
    for (const address of [
      `${path}?${linkOf({ key: other.key })}`,
      `${path}?${linkOf({ value: '10.00' })}`,
      `/pos/pay/${'a'.repeat(22)}?${linkOf()}`,
      `/pos/pay?${linkOf()}`,
    ]) {
      const { statusCode, body } = await inject('GET', address, {}, cookie)
      expect([statusCode, pageText(body)]).toEqual([400, TOO_LATE])
    }
  })
})

/** Returns the cookie of an answer and the path to which a browser sends the cookie. */
function cookieOf({ headers }: Awaited<ReturnType<typeof inject>>): { readonly path: string; readonly cookie: string } {
  const [, cookie = '', path = ''] = /^(card=[^;]+); Path=([^;]+)/.exec(String(headers['set-cookie'])) ?? []
  return { path, cookie }
}

describe('a payment without script', () => {
  it('303: sends live cards to the acquirer of their merchant', async () => {
    const { id, key } = await createTestMerchant(payments, app, { name: 'Live', currency: 'EUR' })
    await payments.database.db.updateTable('merchants').set({ acquirer: 'north' }).where('id', '=', id).execute()
    const link = new URLSearchParams({ key: String(key), value: '10' })
    const refused = await pay(link, { number: '4242424242424241' })
    expect([refused.statusCode, pageText(refused.body).includes('This card number is not accepted.')]).toEqual([
      400,
      true,
    ])
    const { statusCode, headers } = await pay(link, { number: '4242424242424242' })
    const receipt = await inject('GET', String(headers.location))
    expect([statusCode, north.received.authorizations.length]).toEqual([303, 1])
    const [paid] = await transactions(id)
    expect(receiptOf(receipt.body)).toBe(receiptText(paid, { notice: '', shop: 'Live', last4: '4242' }))
    const leading = new URLSearchParams({ ...Object.fromEntries(link), redirect: 'https://shop.example.com/done' })
    const { body } = await pay(leading, { number: '4242424242424242' })
    const [redirected] = await transactions(id)
    expect(/http-equiv="refresh" content="([^"]*)"/.exec(body)?.[1]).toBe(
      `0; url=https://shop.example.com/done?transactionId=${redirected.id}`,
    )
    leading.set('redirect', 'https://evil.example/phish')
    const abused = await inject('GET', `/pos?${leading}`)
    expect([abused.statusCode, abused.body.includes('evil.example'), abused.body.includes('<form')]).toEqual([
      400,
      false,
      false,
    ])
    const page = await inject('GET', `/pos?${link}`)
    expect([page.statusCode, page.body.includes('test-cards')]).toEqual([200, false])
  })

  // ASVS 3.4.1
  it('303: requires TLS for the cookie when the page came by TLS', async () => {
    const form = await formOf(linkOf(), { number: CHALLENGED })
    const { statusCode, headers } = await payments.app.inject({
      method: 'POST',
      url: '/pos/pay',
      payload: new URLSearchParams(form).toString(),
      headers: {
        'x-forwarded-for': '192.0.2.1',
        'x-forwarded-proto': 'https',
        'content-type': 'application/x-www-form-urlencoded',
      },
    })
    expect(statusCode).toBe(303)
    expect(String(headers['set-cookie'])).toMatch(/; Secure; /)
    const page = await payments.app.inject({
      method: 'GET',
      url: `/pos?${linkOf()}`,
      headers: { 'x-forwarded-for': '192.0.2.1', 'x-forwarded-proto': 'https' },
    })
    expect(page.headers['strict-transport-security']).toBe('max-age=31536000')
  })

  it('303: keeps cards and tokens out of the log and of the URL to which the bank returns', async () => {
    logged.length = 0
    const first = await pay(linkOf(), { number: CHALLENGED })
    expect(first.statusCode).toBe(303)
    const cookie = /^card=([^;]+)/.exec(String(first.headers['set-cookie']))?.[1] ?? '-'
    await approve(first)
    await pay(linkOf(), { number: '1000000000000007', code: '917' })
    const lines = logged.join('\n')
    expect(logged.length).toBeGreaterThan(4)
    expect([CHALLENGED, '1000000000000007', cookie].filter((secret) => lines.includes(secret))).toEqual([])
    // Match three digits only if they are not part of a time or an id.
    expect(lines).not.toMatch(/(?<![\w.:+/-])917(?!\w)/)
    const { rows } = await sql<{ return_url: string | null }>`
      SELECT return_url FROM ${sql.table('payment_sessions')} WHERE return_url IS NOT NULL
    `.execute(payments.database.db)
    expect(new Set(rows.map(({ return_url }) => return_url))).toContain(
      `https://payments.example${cookieOf(first).path}?${linkOf()}`,
    )
    for (const { return_url } of rows) expect(return_url?.length).toBeLessThan(200)
  })
})
