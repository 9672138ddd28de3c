import type { InjectOptions } from 'fastify'
import { sql } from 'kysely'
import { z } from 'zod'
import { errorVocabulary } from '../../src/error-body.ts'
import * as errors from '../../src/errors.ts'
import { browse, createOrder, walk } from '../customer.ts'
import { customerPayment } from '../customer-payment.ts'
import { settle } from '../live-merchant.ts'
import { copyDispute } from '../open-disputes.ts'
import { operatorHeaders } from '../operators.ts'
import { createTestApp, createTestMerchant, merchantBody } from '../payments-app.ts'
import { buildBroken, buildRequiringTls, NO_ID, type World } from './world.ts'

/** The status, body and headers of an answer. */
export interface Answer {
  readonly status: number
  readonly body: unknown
  readonly headers: Readonly<Record<string, unknown>>
}

/** A case that raises a rule's error. */
export interface RuleCase {
  readonly status: number
  /** The complete body. */
  readonly body: unknown
  /** The value of `X-Status-Code`, by default the code of the body, or REQUEST_INVALID if the body lists fields. */
  readonly code?: string
  readonly raise: (world: World) => Promise<Answer>
}

/** Sends a request as the owner of the world's merchant. */
async function call(world: World, method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, payload?: object) {
  return callAs(world, world.owner.headers, { method, url, ...(payload === undefined ? {} : { payload }) })
}

/** Sends a request with these credentials. */
export async function callAs(
  { payments }: Pick<World, 'payments'>,
  headers: InjectOptions['headers'],
  request: InjectOptions,
) {
  const response = await payments.app.inject({ ...request, headers: { ...headers, ...request.headers } })
  return { status: response.statusCode, body: response.json(), headers: response.headers }
}

/** Sends an order to the checkout. */
const pay = ({ payments }: World, order: object, headers: Readonly<Record<string, string>> = {}) =>
  browse(payments).send('/payments', order, headers)

/** A checkout case, whose body is one object. */
function checkout(code: string, message: string, raise: RuleCase['raise'], fields: object = {}): RuleCase {
  return { status: 400, body: { code, message, ...fields }, raise }
}

/** A case whose body has one field. */
function field(name: string, code: string, message: string, raise: RuleCase['raise']): RuleCase {
  return { status: 400, body: [{ field: name, message, code }], raise }
}

/** A transaction of EUR 3.00 of the world's merchant. */
const payment = ({ payments, merchant }: World) => customerPayment(payments, merchant.id)

/** Creates a live merchant. No case calls its acquirer. */
async function liveMerchant({ payments, owner }: World) {
  const merchant = await createTestMerchant(payments, owner, { currency: 'EUR' })
  await settle(payments.database.db, merchant.id, { acquirer: 'north' })
  return merchant
}

/** Creates an order of a live merchant with new tokens. */
async function liveOrder(world: World, changes: object = {}) {
  const { key } = await liveMerchant(world)
  return createOrder(browse(world.payments), { key, number: '4242424242424242', test: undefined, ...changes })
}

async function setTrail({ payments }: World, id: string, length: number): Promise<void> {
  await payments.database.db.updateTable('transactions').set({ trail_length: length }).where('id', '=', id).execute()
}

/** Closes a dispute with one outcome and then the other. @returns the answer to the second request */
async function closeTwice(world: World, [first, second]: readonly [string, string]): ReturnType<typeof call> {
  const transaction = await payment(world)
  await call(world, 'POST', `/transactions/${transaction}/captures`, { amount: 300 })
  const { body } = await call(world, 'POST', `/test/transactions/${transaction}/disputes`, {})
  const url = `/test/disputes/${body.dispute.id}/outcomes`
  await call(world, 'POST', url, { outcome: first })
  return call(world, 'POST', url, { outcome: second })
}

const merchantUrl = ({ merchant }: World) => `/merchants/${merchant.id}`
/** A card order as a shop sends it. */
const Order = z.looseObject({ card: z.looseObject({ number: z.looseObject({}) }) })
const NO_SOURCE = 'must be of a successful payment of this merchant'
const INSECURE = {
  code: 21,
  message: 'Missing secure connection (https)',
  text: 'Missing secure connection (https)',
  client: false,
  merchant: true,
}

/** The cases of each rule's error, by its name in `errors.ts`. */
export const ruleCases: Readonly<Record<string, readonly RuleCase[]>> = {
  balanceBeyondLimit: [
    field('balance', 'LIMIT_EXCEEDED', 'would be beyond 9223372036854775807', async (world) => {
      const { payments, owner } = world
      const { id } = await createTestMerchant(payments, owner, { test: true, currency: 'EUR' })
      const full = { balance: 9_223_372_036_854_775_807n }
      await payments.database.db.updateTable('merchant_balances').set(full).where('merchant_id', '=', id).execute()
      return call(world, 'POST', `/transactions/${await customerPayment(payments, id)}/captures`, { amount: 300 })
    }),
  ],
  disputeAlreadyLost: [
    {
      status: 409,
      body: { code: 'CONFLICT', message: 'The dispute is already lost' },
      raise: (world) => closeTwice(world, ['lost', 'won']),
    },
  ],
  disputeAlreadyWon: [
    {
      status: 409,
      body: { code: 'CONFLICT', message: 'The dispute is already won' },
      raise: (world) => closeTwice(world, ['won', 'lost']),
    },
  ],
  endpointNotFound: [
    {
      status: 404,
      body: { code: 'ENDPOINT_NOT_FOUND', message: 'There is no such endpoint' },
      raise: (world) => call(world, 'GET', '/nothing'),
    },
  ],
  requestTimeout: [
    {
      status: 408,
      body: { code: 'REQUEST_TIMEOUT', message: 'The body took too long to arrive' },
      raise: async () => written(errorVocabulary.bodyTimedOut?.(new Error('slow'))),
    },
  ],
  uriTooLong: [
    {
      status: 414,
      body: { code: 'URI_TOO_LONG', message: 'The URL is longer than 8 KiB' },
      raise: (world) => call(world, 'GET', `/me?x=${'a'.repeat(9_000)}`),
    },
  ],
  recordChanged: [
    {
      status: 500,
      body: { code: 'RECORD_CHANGED', message: 'Data of this merchant must be looked at by the operator' },
      raise: async (world) => {
        const { id } = await createTestMerchant(world.payments, world.owner)
        const { db } = world.payments.database
        await db.updateTable('merchants').set({ iban: 'DK5000400440116243' }).where('id', '=', id).execute()
        return call(world, 'PUT', `/merchants/${id}`, { name: 'Coffee' })
      },
    },
  ],
  serverBusy: [
    {
      status: 503,
      body: { code: 'SERVER_BUSY', message: 'Too many operations wait for their turn' },
      raise: async (world) => {
        const run = () => Promise.reject(errors.serverBusy())
        const app = await buildBroken(world, { operations: { ...world.payments.deps.operations, run } })
        const url = `/transactions/${world.ids.transaction}/voids`
        const request = { method: 'POST', url, payload: { amount: 1 } } as const
        const answer = await callAs({ payments: { ...world.payments, app } }, world.owner.headers, request)
        await app.close()
        return answer
      },
    },
  ],
  notReady: [
    {
      status: 503,
      body: { code: 'SERVICE_UNAVAILABLE', message: 'The process is starting' },
      raise: async (world) => {
        const readiness = { ...world.payments.deps.readiness, missing: async () => ({ state: 'starting' as const }) }
        const app = await buildBroken(world, { readiness })
        return callAs({ payments: { ...world.payments, app } }, {}, { method: 'GET', url: '/ready' })
      },
    },
  ],
  rateUnavailable: [
    {
      status: 503,
      body: { code: 'RATE_UNAVAILABLE', message: 'There is no recent exchange rate' },
      raise: async (world) =>
        pay(world, await liveOrder(world, { amount: { currency: 'USD', exponent: 2, value: 1_000 } })),
    },
  ],
  versionMissing: [
    checkout('VERSION_MISSING', 'The header Accept-Version is missing', async (world) =>
      callAs(world, {}, { method: 'POST', url: '/vault', payload: {} }),
    ),
  ],
  versionUnsupported: [
    checkout('VERSION_UNSUPPORTED', 'Accept-Version must be 1', async (world) =>
      callAs(world, { 'accept-version': '2' }, { method: 'POST', url: '/vault', payload: {} }),
    ),
  ],
  bodyInvalid: [
    checkout('BODY_INVALID', 'The body must be JSON, sent as application/json', async (world) => {
      const headers = { 'accept-version': '1', 'content-type': 'application/json' }
      return callAs(world, headers, { method: 'POST', url: '/vault', payload: '{' })
    }),
  ],
  tokenInvalid: [
    checkout(
      'TOKEN_INVALID',
      'The token is unknown, too old or spent',
      async (world) => {
        const { card, ...order } = Order.parse(await world.order())
        return pay(world, { ...order, card: { ...card, code: { token: 'x' } } })
      },
      { path: 'card.code' },
    ),
  ],
  tokenTypeUnexpected: [
    checkout(
      'TOKEN_TYPE_UNEXPECTED',
      'The token stands for another kind of value',
      async (world) => {
        const { card, ...order } = Order.parse(await world.order())
        return pay(world, { ...order, card: { ...card, code: card.number } })
      },
      { path: 'card.code' },
    ),
  ],
  testMissing: [
    checkout('TEST_MODE_MIXED', 'test is required for a test merchant', async (world) =>
      pay(world, await world.order({ test: undefined })),
    ),
  ],
  testUnexpected: [
    checkout('TEST_MODE_MIXED', 'test is not for a live merchant', async (world) =>
      pay(world, await liveOrder(world, { test: {} })),
    ),
  ],
  integrationKeyUnknown: [
    checkout('PAYMENT_INTEGRATION_KEY_UNKNOWN', 'No merchant has this key', async (world) =>
      pay(world, await world.order({ integration: { key: 'none' } })),
    ),
  ],
  integrationDisabled: [
    checkout('PAYMENT_INTEGRATION_DISABLED', 'The merchant takes no payments', async (world) => {
      const { key } = await createTestMerchant(world.payments, world.owner, { currency: 'EUR' })
      return pay(world, await createOrder(browse(world.payments), { key, test: undefined }))
    }),
  ],
  challengeUnavailable: [
    checkout(
      'PAYMENT_CHALLENGE_UNAVAILABLE',
      'This step does not apply to the order; begin again at /payments',
      async (world) => browse(world.payments).send('/payments/challenges/tds-challenge', await world.order()),
    ),
  ],
  orderKeyMalformed: [
    checkout('REQUEST_INVALID', 'Idempotency-Key is not valid', async (world) =>
      pay(world, await world.order(), { 'idempotency-key': 'two words' }),
    ),
  ],
  orderKeyUsed: [
    checkout('REQUEST_INVALID', 'Idempotency-Key was used with another body', async (world) => {
      const key = { 'idempotency-key': `order-${Math.random()}` }
      const order = await world.order({ number: '1000000000010000' })
      const browser = browse(world.payments)
      const keyed = { ...browser, send: (path: string, body: object) => browser.send(path, body, key) }
      await walk(keyed, order)
      return pay(world, await world.order({ number: '1000000000010000' }), key)
    }),
  ],
  returnUrlElsewhere: [
    checkout('REQUEST_INVALID', "returnUrl must be on the site of the merchant's website", async (world) =>
      pay(world, await liveOrder(world, { returnUrl: 'https://elsewhere.example/' })),
    ),
  ],
  orderInvalid: [
    checkout('REQUEST_INVALID', 'amount is required without plan and unplanned', async (world) =>
      pay(world, await world.order({ amount: undefined })),
    ),
  ],
  cardDataInsecure: [
    {
      status: 400,
      body: { code: 'REQUEST_INVALID', message: INSECURE.message, error: INSECURE },
      raise: async (world) => {
        const app = await buildRequiringTls(world)
        const payload = { type: 'pcsc', value: '111' }
        const request = { method: 'POST', url: '/vault', payload } as const
        const answer = await callAs({ payments: { ...world.payments, app } }, { 'accept-version': '1' }, request)
        await app.close()
        return answer
      },
    },
  ],
  orderRefused: [
    checkout('PAYMENT_INSUFFICIENT_FUNDS', 'Insufficient funds', async (world) =>
      walk(browse(world.payments), await world.order({ number: '1000000000000007' })),
    ),
  ],
  paymentRefused: [
    {
      status: 400,
      code: 'PAYMENT_CARD_EXPIRED',
      body: { code: 6, message: 'Card expired', text: 'Card expired', client: true, merchant: false },
      raise: async (world) => {
        const expiry = { month: 1, year: 2020 }
        const transactionId = await customerPayment(world.payments, world.merchant.id, { expiry })
        const url = `${merchantUrl(world)}/transactions`
        return call(world, 'POST', url, { transactionId, currency: 'EUR', amount: 1 })
      },
    },
  ],
  bodyMalformed: [
    field('body', 'FORMAT', 'is not a well-formed request', async () =>
      written(errorVocabulary.malformed(new Error('Content-Length'))),
    ),
  ],
  idempotencyKeyMalformed: [
    field('Idempotency-Key', 'FORMAT', 'must be 1 to 255 printable ASCII characters without spaces', async (world) =>
      callAs(world, world.owner.headers, {
        method: 'POST',
        url: '/me/keys',
        headers: { 'idempotency-key': 'two words' },
      }),
    ),
  ],
  idempotencyKeyUsed: [
    field('Idempotency-Key', 'MISMATCH', 'was used with another body', async (world) => {
      const url = `/transactions/${await payment(world)}/captures`
      const send = (amount: number) => {
        const headers = { 'idempotency-key': 'used' }
        return callAs(world, world.owner.headers, { method: 'POST', url, headers, payload: { amount } })
      }
      await send(1)
      return send(2)
    }),
  ],
  idempotencyKeyMissing: [
    field('Idempotency-Key', 'REQUIRED', 'is required', (world) =>
      callAs(world, operatorHeaders('admin'), { method: 'DELETE', url: `/operator/apps/${NO_ID}/keys` }),
    ),
  ],
  idempotencyKeySpent: [
    field('Idempotency-Key', 'MISMATCH', 'was used for a key that is revoked', async (world) => {
      const headers = { 'idempotency-key': 'spent' }
      const make = () => callAs(world, world.owner.headers, { method: 'POST', url: '/me/keys', headers })
      const { body } = await make()
      await world.payments.app.inject({
        method: 'DELETE',
        url: `/me/keys/${body.key.id}`,
        headers: world.owner.headers,
      })
      return make()
    }),
  ],
  lastKey: [
    field('keyId', 'LIMIT_EXCEEDED', 'is the last active key', async (world) => {
      const { headers } = await createTestApp(world.payments)
      const { body } = await callAs(world, headers, { url: '/me/keys?limit=1' })
      return callAs(world, headers, { method: 'DELETE', url: `/me/keys/${body[0].id}` })
    }),
  ],
  lastMember: [
    field('appId', 'LIMIT_EXCEEDED', 'is the only app of the merchant', async (world) =>
      call(world, 'DELETE', `/merchants/${(await liveMerchant(world)).id}/apps/${world.owner.id}`),
    ),
    field('userId', 'LIMIT_EXCEEDED', 'is the only user of the merchant', async (world) => {
      const headers = { authorization: 'Bearer user' }
      const { body } = await callAs(world, headers, { method: 'POST', url: '/merchants', payload: merchantBody })
      const me = await callAs(world, headers, { url: '/me' })
      const url = `/merchants/${body.merchant.id}/users/${me.body.identity.id}`
      return callAs(world, headers, { method: 'DELETE', url })
    }),
  ],
  unknownApp: [
    field('appId', 'UNKNOWN', 'is not an app', (world) =>
      call(world, 'POST', `${merchantUrl(world)}/apps`, { appId: NO_ID }),
    ),
  ],
  executionDateClosed: [
    field('executionDate', 'RANGE', 'must be a day on which banks settle, today or later', (world) =>
      callAs(
        world,
        { ...operatorHeaders('admin'), 'idempotency-key': 'closed' },
        {
          method: 'POST',
          url: '/operator/payouts/batches',
          payload: { name: 'Trestle', iban: 'DK5000400440116243', executionDate: '2026-01-01' },
        },
      ),
    ),
  ],
  clockTooFar: [
    field('advance', 'RANGE', 'must not lead more than 100 years ahead', (world) =>
      call(world, 'POST', `/test${merchantUrl(world)}/clock`, { advance: 101 * 366 * 86_400 }),
    ),
  ],
  webhookWithoutTls: [
    field(
      'url',
      'FORMAT',
      'must be an https URL: http is for test merchants where PAYMENTS_WEBHOOK_ALLOW_HTTP is set',
      async (world) => {
        const { id } = await liveMerchant(world)
        return call(world, 'POST', `/merchants/${id}/webhooks`, { url: 'http://example.com:8080/' })
      },
    ),
  ],
  webhookInside: [
    field(
      'url',
      'FORMAT',
      'must not be an address inside a network, unless PAYMENTS_WEBHOOK_ALLOWED_HOSTS names it',
      (world) => call(world, 'POST', `${merchantUrl(world)}/webhooks`, { url: 'https://10.0.0.1/' }),
    ),
  ],
  tooManyWebhooks: [
    field('body', 'LIMIT_EXCEEDED', 'a merchant has at most 10 webhooks', async (world) => {
      const { id } = await createTestMerchant(world.payments, world.owner)
      const make = () => call(world, 'POST', `/merchants/${id}/webhooks`, { url: 'https://example.com/' })
      for (let count = 0; count < 10; count++) await make()
      return make()
    }),
  ],
  tooManyDisputes: [
    field('body', 'LIMIT_EXCEEDED', 'a test merchant has at most 1000 open disputes', async (world) => {
      const { id } = await createTestMerchant(world.payments, world.owner, { currency: 'EUR', test: true })
      const transaction = await customerPayment(world.payments, id)
      await call(world, 'POST', `/transactions/${transaction}/captures`, { amount: 300 })
      const open = () => call(world, 'POST', `/test/transactions/${transaction}/disputes`, { amount: 1 })
      await copyDispute(world.payments, (await open()).body.dispute.id, 999)
      return open()
    }),
  ],
  amountBeyondLimit: [
    ...(['capture', 'refund', 'void'] as const).map((kind) =>
      field(
        'amount',
        'LIMIT_EXCEEDED',
        `Can ${kind} at most EUR ${kind === 'refund' ? '0.00' : '3.00'}`,
        async (world) => call(world, 'POST', `/transactions/${await payment(world)}/${kind}s`, { amount: 301 }),
      ),
    ),
    field('amount', 'LIMIT_EXCEEDED', 'Can dispute at most EUR 0.00', async (world) =>
      call(world, 'POST', `/test/transactions/${await payment(world)}/disputes`, { amount: 1 }),
    ),
  ],
  otherCurrency: [
    field('currency', 'MISMATCH', 'must be EUR', async (world) =>
      call(world, 'POST', `/transactions/${await payment(world)}/captures`, { amount: 1, currency: 'DKK' }),
    ),
  ],
  trailFull: [
    field('body', 'LIMIT_EXCEEDED', 'the trail of the transaction is full', async (world) => {
      const transaction = await payment(world)
      await setTrail(world, transaction, 200)
      return call(world, 'POST', `/transactions/${transaction}/captures`, { amount: 1 })
    }),
  ],
  currencyWithoutRate: [
    field('currency', 'UNKNOWN', 'has no exchange rate', async (world) => {
      await sql`DELETE FROM ${sql.table('fx_rates')} WHERE currency = 'ISK'`.execute(world.payments.database.db)
      const transactionId = await payment(world)
      const url = `${merchantUrl(world)}/transactions`
      return call(world, 'POST', url, { transactionId, currency: 'ISK', amount: 1 })
    }),
  ],
  unknownSource: [
    field('transactionId', 'UNKNOWN', NO_SOURCE, (world) => {
      const url = `${merchantUrl(world)}/transactions`
      return call(world, 'POST', url, { transactionId: NO_ID, currency: 'EUR', amount: 1 })
    }),
    field('cardId', 'UNKNOWN', NO_SOURCE, (world) => {
      const url = `${merchantUrl(world)}/transactions`
      return call(world, 'POST', url, { cardId: NO_ID, currency: 'EUR', amount: 1 })
    }),
    field('transactionId', 'UNKNOWN', NO_SOURCE, (world) =>
      call(world, 'POST', `${merchantUrl(world)}/cards`, { transactionId: NO_ID }),
    ),
  ],
  payoutSkipped: [
    field('balance', 'LIMIT_EXCEEDED', 'below_minimum', async (world) => {
      const { id } = await createTestMerchant(world.payments, world.owner, { test: true })
      return call(world, 'POST', `/test/merchants/${id}/payouts`)
    }),
  ],
}

/** Returns the error handler's answer for an error that no test request can raise. */
function written(error: ReturnType<typeof errors.notFound> | undefined): Answer {
  if (error === undefined) throw new Error('the vocabulary has no such error')
  return { status: error.status, body: errorVocabulary.envelope(error, undefined), headers: error.headers }
}
