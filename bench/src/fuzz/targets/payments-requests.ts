import fc from 'fast-check'
import { CARD_EXPIRY, ORDER_AMOUNT } from '../../drills/canaries/orders.ts'
import type { PlanSources } from '../plans.ts'
import { known, knownTogether, type Lexicon } from '../valid-value.ts'
import { CODE, INVITED, linkOf, PAN } from './payments-shop.ts'

/** A card whose bank does not ask the customer. */
const UNASKED_PAN = '1000000000010000'
/** The checkout steps that an order can have reached. */
export const STEPS = ['card-lookup', 'device-fingerprint', 'tds-fingerprint', 'tds-challenge']

const currency = fc.constantFrom('EUR', 'DKK', 'JPY', 'KWD')
const amount = fc.integer({ min: 1, max: 200 })
const descriptor = fc.constant('FUZZ SHOP')
const reference = fc.nat(50).map((number) => `order ${number}`)
const cardData = fc.constantFrom({ type: 'pcn', value: PAN }, { type: 'pcsc', value: CODE })
const token = (pool: string) => known(pool, 'AAAA').map((each) => ({ token: each }))
const merchant = fc.record(
  {
    currency,
    descriptor,
    email: fc.constant('owner@shop.example'),
    website: fc.constant('https://shop.example'),
    company: fc.constant({ country: 'DK' }),
    test: fc.constant(true),
    name: fc.constantFrom('Shop', 'Søren & co'),
    bank: fc.constantFrom({}, { iban: 'DK5000400440116243' }),
  },
  { requiredKeys: ['currency', 'descriptor', 'email', 'website', 'company', 'test'] },
)
const newOrder = fc.record(
  {
    integration: known('publicKey').map((key) => ({ key })),
    test: fc.constantFrom<unknown>({}, true, { tds: { challenge: false } }, { card: { status: 'lost' } }),
    amount: fc.record({
      currency,
      exponent: fc.integer({ min: 0, max: 3 }),
      value: fc.integer({ min: 1, max: 5_000 }),
    }),
    card: fc.record({ number: token('pcn'), code: token('pcsc'), expiry: fc.constant({ month: 12, year: 2066 }) }),
    hints: known('hint', 'x').map((hint) => [hint]),
    text: fc.constantFrom('Coffee', 'Crème brûlée'),
    unplanned: fc.constant({ merchant: true }),
    reference,
  },
  { requiredKeys: ['integration', 'test', 'amount', 'card'] },
)
/** An order at some step. Its hints are valid for no other order. */
const begunOrder = knownTogether('order', (part) => ({
  integration: { key: part('key') },
  test: {},
  amount: ORDER_AMOUNT,
  returnUrl: 'https://shop.example/thanks',
  card: { number: part('number'), code: part('code'), expiry: CARD_EXPIRY },
  hints: part('hints'),
}))
const order = fc.oneof({ weight: 1, arbitrary: newOrder }, { weight: 2, arbitrary: begunOrder })
/** A merchant with a user, an app and a webhook. */
const ofOneShop = knownTogether('shop', (part) => ({
  params: {
    merchantId: part('merchantId'),
    userId: part('userId'),
    appId: part('appId'),
    webhookId: part('webhookId'),
  },
}))
const ofException = knownTogether('exception', (part) => ({
  params: { merchantId: part('merchantId'), exceptionId: part('exceptionId') },
}))
const ofInvitation = fc.record({ params: fc.record({ token: known('invitation') }) })
/** A customer's return from the bank. The cookie is encrypted for its page and its link. */
const ofCustomerAtBank = knownTogether('atBank', (part) => ({
  params: { pageId: part('pageId') },
  headers: [['cookie', part('cookie')] as const],
  query: Object.keys(linkOf('')).map((name) => [name, part(name)] as const),
}))
export const pooled = [
  'merchantId',
  'transactionId',
  'cardId',
  'disputeId',
  'fraudId',
  'userId',
  'lineId',
  'payoutId',
  'webhookId',
  'keyId',
  'appId',
  'attemptId',
  'deliveryId',
  'batchId',
]

export const lexicon: Lexicon = {
  ...Object.fromEntries(pooled.map((pool) => [pool, known(pool)])),
  task: fc.constantFrom('delivery', 'mail', 'inquiry'),
  bic: fc.constant('NDEADKKK'),
  identityId: known('appId'),
  authorizationId: known('transactionId'),
  before: known('lineId'),
  after: known('transactionId'),
  limit: fc.integer({ min: 1, max: 20 }),
  amount,
  currency,
  descriptor,
  reference,
  iban: fc.constant('DK5000400440116243'),
  country: fc.constant('DK'),
  email: fc.constantFrom(INVITED, 'bob@shop.example'),
  website: fc.constant('https://shop.example'),
  url: fc.nat(20).map((number) => `https://hooks.example/${number}`),
  events: fc.subarray(['transaction.captured', 'transaction.refunded', 'dispute.opened', 'user.invited']),
  advance: fc.nat(3_600),
  from: fc.constantFrom('2026-01-01', '2026-11-01T00:00:00Z'),
  to: fc.constantFrom('2027-01-01', '2026-12-01T00:00:00Z'),
  step: fc.oneof(
    knownTogether('order', (part) => part('step')),
    fc.constantFrom(...STEPS),
  ),
  way: fc.constantFrom('iframe', 'redirect', 'poll'),
  key: known('publicKey'),
  link: known('link'),
  state: known('state'),
  receipt: known('receipt'),
  custom: fc.jsonValue({ maxDepth: 2 }),
  returnUrl: fc.constant('https://shop.example/thanks'),
}

export const bodies: PlanSources['bodies'] = {
  'POST /merchants': merchant,
  'PUT /merchants/{merchantId}': fc.record(
    { name: fc.constantFrom('Shop', null), email: fc.constant('new@shop.example'), descriptor },
    { requiredKeys: [] },
  ),
  'POST /payments': order,
  'POST /payments/challenges/{step}': order,
  'POST /payments/challenges/{step}/{way}': order,
  'POST /': cardData,
  'POST /vault': cardData,
  'POST /pos': fc.record({ link: known('link'), amount: fc.constant('10') }),
  'POST /pos/pay': fc.record({
    link: known('link'),
    page: fc.stringMatching(/^[\w-]{22}$/),
    number: fc.constantFrom(PAN, UNASKED_PAN),
    expiry: fc.constant('12/66'),
    code: fc.constant(CODE),
  }),
  'POST /merchants/{merchantId}/transactions': fc.record(
    { transactionId: known('transactionId'), currency, amount, descriptor, reference },
    { requiredKeys: ['transactionId', 'currency', 'amount'] },
  ),
  'POST /merchants/{merchantId}/cards': fc.record({ transactionId: known('transactionId') }),
  'PUT /operator/merchants/{merchantId}/pricing': fc.record({ rate: fc.nat(300) }),
  'POST /operator/payouts/batches': fc.record({
    name: fc.constant('Fuzz ApS'),
    iban: fc.constant('DK5000400440116243'),
  }),
  'POST /operator/transactions/{transactionId}/captures': fc.record({ amount }),
  'POST /operator/transactions/{transactionId}/refunds': fc.record({ amount }),
  'POST /operator/transactions/{transactionId}/voids': fc.record({ amount }),
  'POST /transactions/{transactionId}/captures': fc.record({ amount }),
  'POST /transactions/{transactionId}/refunds': fc.record({ amount }),
  'POST /transactions/{transactionId}/voids': fc.record({ amount }),
}

export const together: PlanSources['together'] = {
  'GET /invitations/{token}': ofInvitation,
  'POST /invitations/{token}': ofInvitation,
  'GET /pos/pay/{pageId}': ofCustomerAtBank,
  'DELETE /merchants/{merchantId}/users/{userId}': ofOneShop,
  'DELETE /operator/apps/{appId}/keys': ofOneShop,
  'GET /operator/exceptions/{merchantId}/{exceptionId}': ofException,
  'POST /operator/exceptions/{merchantId}/{exceptionId}/resolution': ofException,
  'DELETE /merchants/{merchantId}/apps/{appId}': ofOneShop,
  'DELETE /merchants/{merchantId}/webhooks/{webhookId}': ofOneShop,
}
