import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectBody, refusals, refusedField, shownCard, shownTransaction, statusAndBody } from '../../../test/bodies.ts'
import { customerPayment } from '../../../test/customer-payment.ts'
import {
  basic,
  createdOf,
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../../test/payments-app.ts'
import { processingError } from '../../transactions/processing-error.ts'

let payments: TestPayments
let member: TestApp
let merchant: { id: string }
beforeAll(async () => {
  payments = await startPayments()
  member = await createTestApp(payments)
  merchant = await createTestMerchant(payments, member, {
    test: true,
    currency: 'EUR',
    bank: { iban: 'DK5000400440116243' },
  })
})
afterAll(() => payments.close())

interface Event {
  readonly id: string
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
}

async function send(method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, payload: object = {}) {
  const body = method === 'GET' ? {} : { payload }
  const response = await payments.app.inject({ method, url, headers: member.headers, ...body })
  expect(response.statusCode).toBeLessThan(300)
  return response.body === '' ? {} : response.json()
}
const list = (query = 'limit=1000', headers: object = member.headers, id = merchant.id) =>
  payments.app.inject({ url: `/merchants/${id}/events?${query}`, headers: { ...headers } })
/** The id of the last event that `news` returned. `news` returns the later events, oldest first. */
let seen = ''
async function news(): Promise<Event[]> {
  const events = expectBody(200, await list(`limit=1000&after=${seen || '0'.repeat(24)}`))
  seen = events.at(-1)?.id ?? seen
  return events
}
const contents = async () => (await news()).map(({ type, data }) => ({ type, data }))

describe('GET /merchants/:merchantId/events', () => {
  it('200: shows a transaction as it was at the event, also after later changes', async () => {
    const id = await customerPayment(payments, merchant.id, { currency: 'USD', amount: 1_000 })
    await news()
    const captured = await send('POST', `/transactions/${id}/captures`, { amount: 600, reference: 'r1' })
    const voided = await send('POST', `/transactions/${id}/voids`, { amount: 100 })
    const refunded = await send('POST', `/transactions/${id}/refunds`, { amount: 250 })
    await send('POST', `/transactions/${id}/captures`, { amount: 300 })
    expect((await contents()).slice(0, 3)).toEqual([
      { type: 'transaction.captured', data: captured },
      { type: 'transaction.voided', data: voided },
      { type: 'transaction.refunded', data: refunded },
    ])
  })

  it('200: shows charges, refused ones too', async () => {
    const source = await customerPayment(payments, merchant.id, { number: '1000000000090007' })
    const path = `/merchants/${merchant.id}/transactions`
    await news()
    const payload = { transactionId: source, currency: 'EUR', amount: 300 }
    const response = await payments.app.inject({ method: 'POST', url: path, headers: member.headers, payload })
    const [failed] = await contents()
    const [latest] = await send('GET', `/merchants/${merchant.id}/transactions?limit=1`)
    expect(statusAndBody(response)).toEqual([400, processingError(7)])
    expect(failed).toEqual({ type: 'transaction.failed', data: { transaction: latest } })
    expect(failed?.data).toEqual({
      transaction: shownTransaction({
        id: latest.id,
        merchantId: merchant.id,
        created: latest.created,
        card: shownCard({ last4: '0007', code: { present: false } }),
        recurring: true,
        successful: false,
        error: { code: 7, message: 'Insufficient funds', text: 'Insufficient funds', client: true, merchant: false },
        trail: [],
        sourceTransactionId: source,
      }),
    })
    const good = await customerPayment(payments, merchant.id)
    await news()
    const created = await send('POST', path, { ...payload, transactionId: good })
    expect(await contents()).toEqual([
      { type: 'transaction.created', data: await send('GET', `/transactions/${created.transaction.id}`) },
    ])
  })

  it('200: shows disputes as they were opened and closed', async () => {
    const id = await customerPayment(payments, merchant.id)
    await send('POST', `/transactions/${id}/captures`, { amount: 300 })
    await news()
    const opened = await send('POST', `/test/transactions/${id}/disputes`, { amount: 100 })
    const won = await send('POST', `/test/disputes/${opened.dispute.id}/outcomes`, { outcome: 'won' })
    const second = await send('POST', `/test/transactions/${id}/disputes`, { amount: 50 })
    const lost = await send('POST', `/test/disputes/${second.dispute.id}/outcomes`, { outcome: 'lost' })
    expect(await contents()).toEqual([
      { type: 'dispute.opened', data: opened },
      { type: 'dispute.won', data: won },
      { type: 'dispute.opened', data: second },
      { type: 'dispute.lost', data: lost },
    ])
  })

  it('200: shows the event of a fraud alert and that of a payout', async () => {
    const id = await customerPayment(payments, merchant.id, { amount: 50_000 })
    await send('POST', `/transactions/${id}/captures`, { amount: 50_000 })
    await news()
    const fraud = await send('POST', `/test/transactions/${id}/frauds`, { reason: 6 })
    const { payout } = await send('POST', `/test/merchants/${merchant.id}/payouts`)
    expect(payout.status).toBe('settled')
    expect(await contents()).toEqual([
      { type: 'fraud.created', data: fraud },
      { type: 'payout.created', data: { payout: { ...payout, status: 'created' } } },
      { type: 'payout.settled', data: { payout } },
    ])
  })

  it('200: shows changes of the merchant and its members', async () => {
    const shop = await createTestApp(payments)
    await news()
    await send('PUT', `/merchants/${merchant.id}`, { name: 'New' })
    const changed = await send('GET', `/merchants/${merchant.id}`)
    await send('PUT', `/merchants/${merchant.id}`, { name: 'Newer' })
    await send('POST', `/merchants/${merchant.id}/apps`, { appId: shop.id })
    await send('DELETE', `/merchants/${merchant.id}/apps/${shop.id}`)
    await send('POST', `/merchants/${merchant.id}/users`, { email: 'ada@example.com' })
    const [user] = await send('GET', `/merchants/${merchant.id}/users?limit=1`)
    await send('DELETE', `/merchants/${merchant.id}/users/${user.id}`)
    const app = { id: shop.id, created: createdOf(shop.id) }
    expect(await contents()).toEqual([
      { type: 'merchant.updated', data: changed },
      { type: 'merchant.updated', data: { merchant: { ...changed.merchant, name: 'Newer' } } },
      { type: 'app.added', data: { app } },
      { type: 'app.revoked', data: { app } },
      { type: 'user.invited', data: { user } },
      { type: 'user.revoked', data: { user } },
    ])
  })

  it('200: has the envelope and the pages of every list, for 30 days', async () => {
    await send('POST', `/merchants/${merchant.id}/users`, { email: 'ada@example.com' })
    const [user] = await send('GET', `/merchants/${merchant.id}/users?limit=1`)
    await send('DELETE', `/merchants/${merchant.id}/users/${user.id}`)
    const events = expectBody(200, await list())
    const [newest, next] = events
    expect(newest).toEqual({
      id: newest?.id,
      type: 'user.revoked',
      version: 1,
      created: createdOf(newest?.id ?? ''),
      merchantId: merchant.id,
      data: { user },
    })
    const second = await list(`limit=1&before=${newest?.id}`)
    expect([second.statusCode, second.body]).toEqual([200, `[\n${JSON.stringify(next)}\n]\n`])
    expect(statusAndBody(await list('limit=9&filter[test]=no'))).toEqual([200, []])
    await payments.database.db
      .updateTable('events')
      .set({ created: new Date(Date.now() - 31 * 86_400_000) })
      .where('id', '=', newest?.id ?? '')
      .execute()
    expect(statusAndBody(await list())).toEqual([200, events.slice(1)])
  })

  it('401: refuses an unknown key before it looks for the merchant', async () => {
    expect(statusAndBody(await list('', basic('x'), UNKNOWN_ID))).toEqual(refusals.unauthorized)
  })

  it('404: refuses an unknown merchant before the page is judged', async () => {
    const unknown = await list('', member.headers, UNKNOWN_ID)
    expect(statusAndBody(unknown)).toEqual(refusals.notFound)
  })

  it('403: refuses an app that is no member, before the page is judged', async () => {
    const stranger = await createTestApp(payments)
    const strange = await list('', stranger.headers)
    expect(statusAndBody(strange)).toEqual(refusals.forbidden)
  })

  it('400: refuses a limit that is no integer', async () => {
    expect(statusAndBody(await list('limit=x'))).toEqual(refusedField('limit', 'must be an integer', 'TYPE'))
  })
})
