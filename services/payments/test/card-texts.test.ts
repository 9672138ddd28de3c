import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refusedField, statusAndBody } from './bodies.ts'
import { refusedOrder } from './checkout-refusals.ts'
import { type Browser, browse, createOrder } from './customer.ts'
import { customerPayment } from './customer-payment.ts'
import { operatorHeaders, testOperators } from './operators.ts'
import { createTestApp, createTestMerchant, startPayments, type TestApp, type TestPayments } from './payments-app.ts'

const NUMBER = '4111 1111 1111 1111'
/** A product number with the first digit and check digit of a card. */
const EAN = '4006381333627'
const SIRET = '380 129 866 46850'

let payments: TestPayments
let browser: Browser
let app: TestApp
let merchant: { id: string; key?: unknown }
let transactionId: string
beforeAll(async () => {
  payments = await startPayments({ operators: testOperators })
  browser = browse(payments)
  app = await createTestApp(payments)
  merchant = await createTestMerchant(payments, app, { currency: 'EUR', test: true })
  transactionId = await customerPayment(payments, merchant.id)
})
afterAll(() => payments.close())

const refusal = (field: string) => refusedField(field, 'must not contain a card number', 'FORMAT')
const shop = (changes: object) => ({
  currency: 'EUR',
  test: true,
  email: 'a@shop.example',
  website: 'https://shop.example',
  descriptor: 'Shop',
  company: { country: 'FR' },
  ...changes,
})
const charge = (changes: object) => ({ transactionId, currency: 'EUR', amount: 100, ...changes })
/** Sends a request of an app, or of an operator if the path requires one. */
const send = (path: string, payload: object) => {
  const url = path.replace('MERCHANT', merchant.id).replace('TRANSACTION', transactionId)
  const key = {
    'idempotency-key': JSON.stringify(payload)
      .replaceAll(/[^!-~]/g, '')
      .slice(0, 255),
  }
  const headers = url.startsWith('/operator/') ? { ...operatorHeaders('admin'), ...key } : app.headers
  return payments.app.inject({ method: 'POST', url, headers, payload })
}

describe('a text with a card number', () => {
  it.each<[string, () => object, string]>([
    ['/apps', () => ({ name: NUMBER }), 'name'],
    ['/merchants', () => shop({ name: `Shop ${NUMBER}` }), 'name'],
    ['/merchants', () => shop({ descriptor: NUMBER }), 'descriptor'],
    ['/merchants', () => shop({ email: '4111111111111111@shop.example' }), 'email'],
    ['/merchants', () => shop({ website: 'https://shop.example/4111111111111111' }), 'website'],
    ['/merchants', () => shop({ company: { country: 'FR', number: NUMBER } }), 'company.number'],
    ['/merchants', () => shop({ company: { country: 'DK', number: SIRET } }), 'company.number'],
    ['/merchants/MERCHANT/users', () => ({ email: '4111111111111111@shop.example' }), 'email'],
    ['/merchants/MERCHANT/webhooks', () => ({ url: 'https://shop.example/?n=4111+1111+1111+1111' }), 'url'],
    ['/merchants/MERCHANT/cards', () => ({ transactionId, notes: NUMBER }), 'notes'],
    ['/merchants/MERCHANT/transactions', () => charge({ reference: NUMBER }), 'reference'],
    ['/merchants/MERCHANT/transactions', () => charge({ descriptor: NUMBER }), 'descriptor'],
    ['/merchants/MERCHANT/transactions', () => charge({ custom: { a: [{ b: NUMBER }] } }), 'custom'],
    ['/merchants/MERCHANT/transactions', () => charge({ custom: { [NUMBER]: 1 } }), 'custom'],
    ['/merchants/MERCHANT/transactions', () => charge({ custom: { a: 4_111_111_111_111_111 } }), 'custom'],
    ['/transactions/TRANSACTION/captures', () => ({ amount: 1, reference: NUMBER }), 'reference'],
    ['/transactions/TRANSACTION/refunds', () => ({ amount: 1, descriptor: NUMBER }), 'descriptor'],
    ['/transactions/TRANSACTION/voids', () => ({ amount: 1, reference: NUMBER }), 'reference'],
    ['/operator/transactions/TRANSACTION/captures', () => ({ amount: 1, reference: NUMBER }), 'reference'],
    ['/operator/transactions/TRANSACTION/disputes', () => ({ reference: NUMBER }), 'reference'],
  ])('is refused by POST %s: %j', async (path, body, field) => {
    expect(statusAndBody(await send(path, body()))).toEqual(refusal(field))
  })

  it.each([
    [{ custom: [[NUMBER]] }, 'custom'],
    [{ custom: { reference: NUMBER } }, 'custom'],
    [{ reference: NUMBER }, 'reference'],
    [{ text: `Order ${NUMBER}` }, 'text'],
    [{ returnUrl: 'https://shop.example/4111111111111111' }, 'returnUrl'],
    [{ redirect: 'https://shop.example/4111111111111111' }, 'redirect'],
  ])('is refused at the checkout: %j', async (changes, field) => {
    const { status, body } = await browser.send(
      '/payments',
      await createOrder(browser, { key: merchant.key, ...changes }),
    )
    expect([status, body]).toEqual(refusedOrder('REQUEST_INVALID', `${field} must not contain a card number`))
  })
})

describe('a text with digits that are no card number', () => {
  it.each<[string, () => object]>([
    ['/merchants', () => shop({ name: 'Shop4111111111111111' })],
    ['/merchants', () => shop({ company: { country: 'FR', number: SIRET } })],
    [
      '/merchants/MERCHANT/transactions',
      () => charge({ reference: '4111111111111112', custom: { at: 1_732_900_000_000 } }),
    ],
    ['/merchants/MERCHANT/transactions', () => charge({ reference: '41111111-1111-4111-8111-111111111111' })],
    ['/merchants/MERCHANT/transactions', () => charge({ reference: EAN, custom: { items: [EAN, Number(EAN)] } })],
    ['/merchants/MERCHANT/transactions', () => charge({ custom: { payTo: 'DE03 5001 0517 5407 3204 31' } })],
  ])('is taken by POST %s: %j', async (path, body) => {
    const { statusCode, headers } = await send(path, body())
    expect([statusCode, headers['content-type']]).toEqual([201, 'application/json; charset=utf-8'])
  })
})
