import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { processingError } from '../src/transactions/processing-error.ts'
import { statusAndBody } from './bodies.ts'
import { refusedCard } from './checkout-refusals.ts'
import { browse, createOrder, walk } from './customer.ts'
import { customerPayment } from './customer-payment.ts'
import { createTestApp, createTestMerchant, startPayments, type TestPayments } from './payments-app.ts'
import { createStubAcquirer, type StubAcquirer } from './stub-acquirer.ts'

const NUMBER = '4242424242424242'
const lines: object[] = []
let north: StubAcquirer
let payments: TestPayments
beforeAll(async () => {
  north = createStubAcquirer()
  payments = await startPayments({ acquirers: new Map([['north', north]]), onLog: (line) => lines.push(line) })
})
afterAll(() => payments.close())

/** Returns all rows of all tables and the job queue as text. Bytes appear unchanged and in hexadecimal. */
async function dump(): Promise<string> {
  const client = new pg.Client({ connectionString: payments.url })
  await client.connect()
  const tables = await client.query<{ name: string }>(
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
     WHERE schemaname IN ('payments', 'payments_jobs')`,
  )
  const texts: string[] = []
  for (const { name } of tables.rows) {
    const { rows } = await client.query<{ text: string }>(`SELECT t::text AS text FROM ${name} t`)
    texts.push(...rows.map(({ text }) => text))
  }
  await client.end()
  return texts.join('\n')
}

// ASVS 14.2.4, 16.2.5
it('stores and logs no card number in clear when a charge is approved, declined or unanswered', async () => {
  const app = await createTestApp(payments)
  const { id } = await createTestMerchant(payments, app, { currency: 'EUR' })
  await payments.database.db.updateTable('merchants').set({ acquirer: 'north' }).where('id', '=', id).execute()
  const transactionId = await customerPayment(payments, id, { number: NUMBER })
  const charge = (key: string) =>
    payments.app.inject({
      method: 'POST',
      url: `/merchants/${id}/transactions`,
      headers: { ...app.headers, 'idempotency-key': key },
      payload: { transactionId, currency: 'EUR', amount: 5, custom: { a: 1 } },
    })
  const arrival = Promise.withResolvers<string>()
  north.answers.authorize = async ({ card }) => {
    arrival.resolve(card.number())
    return { verdict: 'approved', ref: 'r', networkRef: null }
  }
  const answers = [await charge('approved')]
  expect(await arrival.promise).toBe(NUMBER)
  north.answers.authorize = async () => ({ verdict: 'declined', statusCode: 'PAYMENT_CARD_LOST' })
  answers.push(await charge('declined'))
  north.answers.authorize = ({ card }) => Promise.reject(new Error(`no route to the issuer of ${card.number()}`))
  answers.push(await charge('unknown'))
  expect(answers[0]?.statusCode).toBe(201)
  expect(answers.slice(1).map(statusAndBody)).toEqual([
    [400, processingError(10)],
    [400, processingError(12)],
  ])
  const everywhere = [await dump(), ...answers.map(({ body, headers }) => body + JSON.stringify(headers))].join('\n')
  expect(everywhere).toContain(transactionId)
  for (const secret of [NUMBER, Buffer.from(NUMBER).toString('hex'), app.key]) expect(everywhere).not.toContain(secret)
  expect(lines.length).toBeGreaterThan(0)
})

// ASVS 14.2.4, 16.2.5
it('stores and logs no card number, token or security code with which a customer has paid', async () => {
  const browser = browse(payments)
  const { id, key } = await createTestMerchant(payments, await createTestApp(payments), { currency: 'EUR' })
  await payments.database.db.updateTable('merchants').set({ acquirer: 'north' }).where('id', '=', id).execute()
  north.answers.authorize = ({ card }) => Promise.reject(new Error(`no answer for ${card.number()} ${card.code?.()}`))
  const order = await createOrder(browser, { key, number: NUMBER, code: '739', test: undefined })
  const refused = await walk(browser, order)
  expect([refused.status, refused.body]).toEqual(refusedCard('PAYMENT_METHOD_ERROR'))
  const { number, code } = order.card
  for (const text of [`{"type":"pcn","value":"${NUMBER}"`, `["pcsc","739"]`]) {
    const headers = { 'accept-version': '1', 'content-type': 'application/json' }
    await payments.app.inject({ method: 'POST', url: '/vault', headers, payload: text })
  }
  const everywhere = `${await dump()}${JSON.stringify(refused)}`
  expect(everywhere).toContain('PAYMENT_METHOD_ERROR')
  // Matches three separate digits outside of times, ids and hashes.
  expect(everywhere).not.toMatch(/(?<![\w.:+/-])739(?!\w)/)
  for (const secret of [NUMBER, Buffer.from(NUMBER).toString('hex'), number.token, code.token]) {
    expect(everywhere).not.toContain(secret)
  }
})
