import { anyId } from '@trestle/testing/any-text.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Browser, browse, createOrder, walk } from '../../test/customer.ts'
import {
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
} from '../../test/payments-app.ts'
import {
  cardDataInsecure,
  integrationDisabled,
  integrationKeyUnknown,
  orderInvalid,
  returnUrlElsewhere,
  testMissing,
  testUnexpected,
  tokenInvalid,
  tokenTypeUnexpected,
} from '../errors.ts'
import { type CheckoutDeps, openCheckout } from './open-checkout.ts'
import { PaymentBody } from './payment-body.ts'

type Merchant = Awaited<ReturnType<typeof createTestMerchant>>

let payments: TestPayments
let browser: Browser
let app: TestApp
/** `shop` is a test merchant, and `live` is a live merchant with an acquirer. */
let shop: Merchant
let live: Merchant
beforeAll(async () => {
  payments = await startPayments()
  browser = browse(payments)
  app = await createTestApp(payments)
  shop = await createTestMerchant(payments, app, { currency: 'EUR', test: true })
  live = await createTestMerchant(payments, app, { currency: 'EUR', website: 'https://shop.example' })
  await payments.database.db.updateTable('merchants').set({ acquirer: 'north' }).where('id', '=', live.id).execute()
})
afterAll(() => payments.close())

const orderOf = (changes: object = {}) => createOrder(browser, { key: shop.key, ...changes })
const liveOrder = (changes: object = {}) => orderOf({ key: live.key, test: undefined, ...changes })
/** Opens an order that arrived over TLS, in a service with the acquirer `north`. */
const open = (order: object, changes: Partial<CheckoutDeps> = {}, isSecure = true) =>
  openCheckout(
    { ...payments.deps, acquirers: { names: ['north'] }, ...changes },
    { order: PaymentBody.parse(order), idempotentRequest: undefined, ip: '192.0.2.1', isSecure },
  )

describe('openCheckout', () => {
  it('opens an order with its merchant, its money and its card', async () => {
    const opened = await open(await orderOf())
    if (opened.verdict === 'ended') expect.unreachable()
    expect([opened.payee.id, opened.money]).toEqual([shop.id, { currency: 'EUR', amount: 1_000 }])
    expect([opened.tokens.number.value, opened.tokens.code.value]).toEqual(['1000000000000000', '111'])
    expect([opened.session, opened.done]).toEqual([undefined, new Set()])
  })

  it('verifies a card alone in the currency of the merchant', async () => {
    const opened = await open(await orderOf({ amount: undefined, unplanned: { merchant: true } }))
    expect(opened.verdict === 'open' && opened.money).toEqual({ currency: 'EUR', amount: 0 })
  })

  it('tells how the order ended before it looks at the tokens, which are spent by then', async () => {
    const order = await orderOf()
    const { hints, body } = await walk(browser, order)
    expect(await open({ ...order, hints })).toEqual({
      verdict: 'ended',
      end: { verdict: 'paid', transactionId: body.transactionId },
      scheme: { verdict: 'supported', scheme: 'visa' },
      replayed: false,
      bound: { digest: expect.any(Buffer), sessionId: anyId },
    })
    await expect(open(order)).rejects.toThrow(tokenInvalid({ details: { path: 'card.number' } }))
  })

  it.each(['no key', '00000000-0000-4000-8000-000000000000'])(
    'refuses the key %j, which no merchant has',
    async (key) => {
      await expect(open(await orderOf({ key }))).rejects.toThrow(integrationKeyUnknown())
    },
  )

  it('refuses an order for tests at a live merchant, and a live one at a merchant for tests', async () => {
    await expect(open(await liveOrder({ test: {} }))).rejects.toThrow(testUnexpected())
    await expect(open(await orderOf({ test: undefined }))).rejects.toThrow(testMissing())
  })

  it('refuses the card of a live order that came without TLS, where TLS is required', async () => {
    const { config } = payments.deps
    const tls = (requireTls: boolean) => ({ config: { ...config, checkout: { ...config.checkout, requireTls } } })
    const [order, forTests] = [await liveOrder(), await orderOf()]
    await expect(open(order, tls(true), false)).rejects.toThrow(cardDataInsecure())
    expect(await open(order, tls(false), false)).toHaveProperty('payee.id', live.id)
    expect(await open(forTests, tls(true), false)).toHaveProperty('payee.id', shop.id)
  })

  it('refuses a live order while the service does not know the acquirer of the merchant', async () => {
    await expect(open(await liveOrder(), { acquirers: { names: ['south'] } })).rejects.toThrow(integrationDisabled())
  })

  it('refuses a plan whose date is over', async () => {
    const plan = [{ amount: { currency: 'EUR', exponent: 2, value: 1 }, scheduled: '2020-01-01T00:00:00Z' }]
    const problems = [{ field: 'plan.0.scheduled', message: 'must be in the future' }]
    await expect(open(await orderOf({ plan }))).rejects.toThrow(orderInvalid({ problems }))
  })

  it('lets customers of a live merchant return to its site and to the page of payment links only', async () => {
    for (const returnUrl of ['https://www.shop.example/thanks', payments.deps.config.checkout.posUrl]) {
      expect(await open(await liveOrder({ returnUrl }))).toHaveProperty('payee.id', live.id)
    }
    const returnUrl = 'https://elsewhere.example/'
    await expect(open(await liveOrder({ returnUrl }))).rejects.toThrow(returnUrlElsewhere())
    expect(await open(await orderOf({ returnUrl }))).toHaveProperty('payee.id', shop.id)
  })

  it('refuses a token that is unknown, too old or of the other kind, and names it', async () => {
    const order = await orderOf()
    const { number, code, expiry } = order.card
    const withCard = (card: object) => ({ ...order, card: { number, code, expiry, ...card } })
    const ofNumber = { details: { path: 'card.number' } }
    const ofCode = { details: { path: 'card.code' } }
    await expect(open(withCard({ number: 'x' }))).rejects.toThrow(tokenInvalid(ofNumber))
    await expect(open(withCard({ number: code, code: number }))).rejects.toThrow(tokenTypeUnexpected(ofNumber))
    await expect(open(withCard({ code: number }))).rejects.toThrow(tokenTypeUnexpected(ofCode))
    const inHours = (hours: number) => ({ now: () => new Date(Date.now() + hours * 3_600_000) })
    await expect(open(order, inHours(1))).rejects.toThrow(tokenInvalid(ofCode))
    await expect(open(order, inHours(24))).rejects.toThrow(tokenInvalid(ofNumber))
  })

  it('takes a token up to the moment before it expires', async () => {
    const order = await orderOf()
    const opened = await open(order)
    if (opened.verdict === 'ended') expect.unreachable()
    const expires = opened.tokens.code.expires.getTime()
    const at = (ms: number) => open(order, { now: () => new Date(expires + ms) })
    expect((await at(-1)).verdict).toBe('open')
    await expect(at(0)).rejects.toThrow(tokenInvalid({ details: { path: 'card.code' } }))
  })
})
