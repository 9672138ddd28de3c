import { join } from 'node:path'
import type { InjectOptions } from 'fastify'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { callAddException } from '../src/acquirers/exception-repository.ts'
import { buildOpenApi } from '../src/openapi.ts'
import { browse, createOrder, walk } from './customer.ts'
import { operatorHeaders, testOperators } from './operators.ts'
import { basic, startPayments, type TestPayments } from './payments-app.ts'

const FORM = 'application/x-www-form-urlencoded'
const FILE = join(import.meta.dirname, '../src/openapi-examples.json')

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments({ operators: testOperators })
})
afterAll(() => payments.close())

interface Exchange {
  readonly request?: { readonly body: unknown; readonly mediaType?: string }
  readonly answers: Readonly<Record<string, unknown>>
}
const examples: Record<string, Record<string, Exchange>> = {}

it('shows for each operation with a body what the service really takes and answers', async () => {
  const merchant = await registerShop()
  const transactionId = await payByCard(merchant.key)
  const open = await moveMoney(transactionId, merchant.id)
  await shareAccess(merchant.id)
  await testDisputes(transactionId, merchant.id)
  await operate(transactionId, open)
  await operateOn(merchant.id, transactionId)
  await openPages(merchant.key)
  await expect(`${JSON.stringify(stabilise(examples), null, 2)}\n`).toMatchFileSnapshot(FILE)
  const { paths } = JSON.parse(JSON.stringify(await buildOpenApi()))
  const withBody = Object.values<Record<string, { operationId: string; requestBody?: object }>>(paths)
    .flatMap((methods) => Object.values(methods))
    .filter(({ requestBody }) => requestBody !== undefined)
    .map(({ operationId }) => operationId)
  expect(withBody.filter((id) => !(id in examples))).toEqual([])
})

let headers: Record<string, string> = {}
const checkout = { 'accept-version': '1' }

/** Sends a request, records it as an example of an operation, and returns the answer's body. */
async function show(operationId: string, name: string, request: InjectOptions, expected = 201) {
  const answer = await payments.app.inject({ method: 'POST', headers, ...request })
  expect([operationId, answer.statusCode, answer.body]).toEqual([operationId, expected, expect.any(String)])
  const body: unknown = answer.body === '' ? undefined : answer.json()
  examples[operationId] = {
    ...examples[operationId],
    [name]: {
      ...(request.payload !== undefined && { request: { body: request.payload } }),
      answers: body === undefined ? {} : { [expected]: body },
    },
  }
  return answer.body === '' ? undefined : answer.json()
}

async function registerShop() {
  const { app } = await show('createApp', 'named', { url: '/apps', payload: { name: 'My shop' } })
  headers = basic(app.key)
  const company = { country: 'DK', number: '12345678' }
  const payload = {
    name: 'My shop',
    currency: 'EUR',
    test: true,
    email: 'orders@example.com',
    website: 'https://example.com',
    descriptor: 'My shop',
    company,
    bank: { iban: 'DK5000400440116243' },
  }
  const { merchant } = await show('createMerchant', 'test-shop', { url: '/merchants', payload })
  const url = `/merchants/${merchant.id}`
  await show('getMerchant', 'test-shop', { method: 'GET', url }, 200)
  await show('updateMerchant', 'rename', { method: 'PUT', url, payload: { name: 'Our shop' } }, 204)
  await show('getIdentity', 'app', { method: 'GET', url: '/me' }, 200)
  await show('createKey', 'second', { url: '/me/keys' })
  return merchant
}

async function payByCard(key: string) {
  const code = { url: '/vault', headers: checkout, payload: { type: 'pcsc', value: '111' } }
  await show('tokenizeCard', 'code', code)
  await show('tokenizeCardAtVaultHost', 'code', code)
  const browser = browse(payments)
  const order = await createOrder(browser, { key })
  const send = (url: string, hints: readonly string[] = []) => ({
    url,
    headers: checkout,
    payload: { ...order, hints },
  })
  await show('createPayment', 'first', send('/payments'), 200)
  await show('takeChallenge', 'card-lookup', send('/payments/challenges/card-lookup'), 200)
  const progress = await walk(browser, order, { until: 'tds-fingerprint' })
  await browser.send('/payments', { ...order, hints: progress.hints })
  await show('takeChallengeAnotherWay', 'poll', send('/payments/challenges/tds-challenge/poll', progress.hints), 200)
  const { hints } = await walk(browser, order)
  const { transactionId } = await show('createPayment', 'last', send('/payments', hints))
  return transactionId
}

async function moveMoney(transactionId: string, merchantId: string) {
  const at = `/transactions/${transactionId}`
  await show('captureTransaction', 'part', { url: `${at}/captures`, payload: { amount: 700, currency: 'EUR' } })
  await show('refundTransaction', 'part', { url: `${at}/refunds`, payload: { amount: 200 } })
  await show('voidTransaction', 'rest', { url: `${at}/voids`, payload: { amount: 300 } })
  await show('getTransaction', 'moved', { method: 'GET', url: at }, 200)
  const again = { transactionId, currency: 'EUR', amount: 500, reference: 'order-1043' }
  const { transaction } = await show('createTransaction', 'again', {
    url: `/merchants/${merchantId}/transactions`,
    payload: again,
  })
  const card = { transactionId, notes: 'A customer of the first day' }
  await show('keepCard', 'of-transaction', { url: `/merchants/${merchantId}/cards`, payload: card })
  return transaction.id
}

async function shareAccess(merchantId: string) {
  const other = await payments.app.inject({ method: 'POST', url: '/apps' })
  const at = `/merchants/${merchantId}`
  await show('addApp', 'second', { url: `${at}/apps`, payload: { appId: await identityOf(other.json().app.key) } })
  await show('inviteUser', 'colleague', { url: `${at}/users`, payload: { email: 'colleague@example.com' } })
  const hook = { url: 'https://example.com/hook', events: ['transaction.captured', 'dispute.opened'] }
  const { webhook } = await show('createWebhook', 'two-events', { url: `${at}/webhooks`, payload: hook })
  await show('rotateWebhookSecret', 'rotate', { url: `${at}/webhooks/${webhook.id}/secrets` })
}

async function identityOf(key: string): Promise<string> {
  return (await payments.app.inject({ url: '/me', headers: basic(key) })).json().identity.id
}

async function testDisputes(transactionId: string, merchantId: string) {
  const at = `/test/transactions/${transactionId}`
  const opened = { amount: 100, reason: { code: 4853 } }
  const { dispute } = await show('openTestDispute', 'part', { url: `${at}/disputes`, payload: opened })
  const closed = { url: `/test/disputes/${dispute.id}/outcomes`, payload: { outcome: 'won' } }
  await show('closeTestDispute', 'won', closed)
  await show('addTestFraudAlert', 'stolen', { url: `${at}/frauds`, payload: { reason: 1 } })
  await show('advanceTestClock', 'a-day', { url: `/test/merchants/${merchantId}/clock`, payload: { advance: 86_400 } })
  const filter = `limit=10&filter[merchantId]=${merchantId}`
  await show('listDisputes', 'of-merchant', { method: 'GET', url: `/disputes?${filter}` }, 200)
  await show('listEvents', 'newest', { method: 'GET', url: `/merchants/${merchantId}/events?limit=2` }, 200)
}

/** Sends an operator's requests about two transactions. The second one is open. */
async function operate(transactionId: string, open: string) {
  const at = (id: string) => `/operator/transactions/${id}`
  const send = (url: string, payload: object) => {
    const key = { 'idempotency-key': url }
    return { url, payload, headers: { ...operatorHeaders('admin'), ...key } }
  }
  await show('captureTransactionAsOperator', 'part', send(`${at(open)}/captures`, { amount: 300 }))
  await show('voidTransactionAsOperator', 'rest', send(`${at(open)}/voids`, { amount: 200 }))
  await show('refundTransactionAsOperator', 'part', send(`${at(transactionId)}/refunds`, { amount: 50 }))
}

/** Sends an operator's requests about a merchant. */
async function operateOn(merchantId: string, transactionId: string) {
  const send = (url: string, payload: object, method: 'POST' | 'PUT' = 'POST') => {
    const key = { 'idempotency-key': url }
    return { method, url: `/operator${url}`, payload, headers: { ...operatorHeaders('admin'), ...key } }
  }
  const at = `/merchants/${merchantId}`
  const paidOut = await payments.app.inject({ method: 'POST', url: `/test${at}/payouts`, headers })
  const { payout } = paidOut.json()
  const pricing = { rate: 110, flat: { currency: 'EUR', amount: 20 } }
  await show('priceMerchant', 'lower', send(`${at}/pricing`, pricing, 'PUT'), 200)
  await show('moveTestClockAsOperator', 'a-day', send(`${at}/clock`, { advance: 86_400 }))
  const opened = send(`/transactions/${transactionId}/disputes`, { amount: 100, reference: 'case-7' })
  const { dispute } = await show('openDisputeAsOperator', 'on-paper', opened)
  await show('closeDisputeAsOperator', 'lost', send(`/disputes/${dispute.id}/outcome`, { outcome: 'lost' }))
  await payments.deps.jobs.open()
  await show('runPayouts', 'one-merchant', send('/payouts/run', { merchant: merchantId }), 202)
  await payments.deps.jobs.close()
  const debtor = { name: 'Trestle ApS', iban: 'DK5000400440116243', bic: 'NDEADKKK' }
  await show('exportPayouts', 'nothing-waits', send('/payouts/batches', debtor))
  await show('closePayout', 'settled', send(`/payouts/${payout.id}/outcome`, { outcome: 'settled' }))
  await insertOpenWork(merchantId)
  const attempts = await payments.app.inject({ url: '/operator/attempts', headers: operatorHeaders('viewer') })
  const [attempt] = attempts.json().attempts
  await show('resolveAttempt', 'declined', send(`/attempts/${attempt.id}/outcome`, { outcome: 'declined' }))
  const exceptions = await payments.app.inject({ url: '/operator/exceptions', headers: operatorHeaders('viewer') })
  const [exception] = exceptions.json().exceptions
  const resolution = `/exceptions/${merchantId}/${exception.id}/resolution`
  await show('resolveException', 'adjusted', send(resolution, { note: 'Adjusted by hand' }))
  await show('changeRegistration', 'open', send('/registration', { isClosed: false }, 'PUT'), 200)
}

/** Inserts an attempt without an outcome, and an exception. */
async function insertOpenWork(merchantId: string) {
  const { db } = payments.database
  await sql`
    INSERT INTO payments.attempts (merchant_id, id, created, kind, state, request)
    SELECT m.id, n.id, n.created, 'charge', 'unknown', '{"acquirer":"north","currency":"EUR","amount":500}'
    FROM payments.merchants m, payments.new_id(m.tag) n WHERE m.id = ${merchantId}`.execute(db)
  const payload = { type: 'operation', acquirer: 'north', kind: 'capture', problem: 'rejected' }
  await callAddException(db, { merchantId, reference: 'example', payload })
}

/** Sends a form to a page, and records it as an example of an operation. */
async function showForm(operationId: string, url: string, fields: Record<string, string>, expected = 200) {
  const payload = new URLSearchParams(fields).toString()
  const answer = await payments.app.inject({ method: 'POST', url, headers: { 'content-type': FORM }, payload })
  expect([operationId, answer.statusCode]).toEqual([operationId, expected])
  examples[operationId] = { form: { request: { body: fields, mediaType: FORM }, answers: {} } }
}

/** Sends the forms of the bank's pages and of payment links. */
async function openPages(key: string) {
  const browser = browse(payments)
  const order = await createOrder(browser, { key })
  const stateAt = async (path: string, hints: readonly string[]) => {
    await browser.send('/payments', { ...order, hints })
    return (await browser.send(path, { ...order, hints })).body.fields.state ?? ''
  }
  const looked = await walk(browser, order, { until: 'card-lookup' })
  const frame = await stateAt('/payments/challenges/device-fingerprint', looked.hints)
  await showForm('takeFingerprint', '/acs/fingerprint', { state: frame })
  const progress = await walk(browser, order, { until: 'tds-fingerprint' })
  const bank = await stateAt('/payments/challenges/tds-challenge', progress.hints)
  await showForm('decideAtBank', '/acs/challenge', { state: bank, decision: 'approve' })
  const link = `key=${key}&test=1&currency=EUR`
  await showForm('enterAmount', '/pos', { link, amount: '12,50' }, 303)
  const card = { number: '1000 0000 0001 0000', expiry: '08/66', code: '111' }
  await showForm(
    'submitCardForm',
    '/pos/pay',
    { link: `${link}&value=12.50`, page: 'c2VhbGVkLW9uLWEtcGFnZQ', ...card },
    303,
  )
}

/** Replaces ids, keys, times and encrypted texts by stable values. */
function stabilise(value: unknown): unknown {
  const ids = new Map<string, string>()
  const text = JSON.stringify(value)
    .replaceAll(/"[0-9a-f]{24}"/g, (id) => numbered(ids, id, (n) => `"69a42e00${n.padStart(16, '0')}"`))
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, (key) =>
      numbered(ids, key, (n) => `00000000-0000-4000-8000-${n.padStart(12, '0')}`),
    )
    .replaceAll(/"20\d\d-\d\d-\d\dT[\d:.]+Z"/g, '"2026-03-01T12:00:00.000Z"')
    .replaceAll(/"[\w+/=-]{43,}"/g, '"eyJ0eXBlIjoic2VhbGVkIn0"')
  return JSON.parse(text)
}

function numbered(known: Map<string, string>, key: string, make: (number: string) => string): string {
  const name = known.get(key) ?? make(String(known.size + 1))
  known.set(key, name)
  return name
}
