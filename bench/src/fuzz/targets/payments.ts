import { createMailStore } from '@trestle/stack/mail/mail-store.ts'
import { startSmtpListener } from '@trestle/stack/mail/smtp-listener.ts'
import fc from 'fast-check'
import { z } from 'zod'
import { advanceOrder, CARD_EXPIRY, ORDER_AMOUNT, payOrder } from '../../canaries/orders.ts'
import type { Visitor } from '../../canaries/visitor.ts'
import type { Memory } from '../memory.ts'
import type { Ask, Target } from '../target.ts'
import { known, knownTogether } from '../valid-value.ts'

const ACTORS = 3
const PAN = '1000000000000000'
const CODE = '271'
const INVITED = 'ada@shop.example'
const STEPS = ['card-lookup', 'device-fingerprint', 'tds-fingerprint', 'tds-challenge']
const VERSION = { 'accept-version': '1' }

const currency = fc.constantFrom('EUR', 'DKK', 'JPY', 'KWD')
const amount = fc.integer({ min: 1, max: 200 })
const descriptor = fc.constant('FUZZ SHOP')
const reference = fc.nat(50).map((number) => `order ${number}`)
const token = (pool: string) => known(pool, 'AAAA').map((each) => ({ token: each }))
const merchant = fc.record(
  {
    ...{ currency, descriptor, email: fc.constant('owner@shop.example'), website: fc.constant('https://shop.example') },
    ...{
      company: fc.constant({ country: 'DK' }),
      test: fc.constant(true),
      name: fc.constantFrom('Shop', 'Søren & co'),
    },
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
  ...{ integration: { key: part('key') }, test: {}, amount: ORDER_AMOUNT, returnUrl: 'https://shop.example/thanks' },
  card: { number: part('number'), code: part('code'), expiry: CARD_EXPIRY },
  hints: part('hints'),
}))
const order = fc.oneof({ weight: 1, arbitrary: newOrder }, { weight: 2, arbitrary: begunOrder })
/** A merchant with a user, an app and a webhook of its own. */
const ofOneShop = knownTogether('shop', (part) => ({
  ...{ merchantId: part('merchantId'), userId: part('userId') },
  ...{ appId: part('appId'), webhookId: part('webhookId') },
}))
const pooled = [
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
]

const NewApp = z.object({ app: z.object({ id: z.string(), key: z.string() }) })
const NewMerchant = z.object({ merchant: z.object({ id: z.string(), key: z.string() }) })
const NewWebhook = z.object({ webhook: z.object({ id: z.string() }) })
const User = z.object({ id: z.string() })
const NewToken = z.object({ token: z.string() })

/** Merchants with payments in every state. Their apps, other apps and customers send the requests. */
export const paymentsTarget: Target = {
  service: 'payments',
  actors: ACTORS,
  pools: new Set([...pooled, 'hint', 'publicKey', 'pcn', 'pcsc', 'order', 'shop']),
  tokens: ['hint', 'pcn', 'pcsc'],
  lexicon: {
    ...Object.fromEntries(pooled.map((pool) => [pool, known(pool)])),
    ...{ identityId: known('appId'), authorizationId: known('transactionId') },
    ...{ before: known('lineId'), after: known('transactionId'), limit: fc.integer({ min: 1, max: 20 }) },
    ...{ amount, currency, descriptor, reference, iban: fc.constant('DK5000400440116243'), country: fc.constant('DK') },
    ...{ email: fc.constantFrom(INVITED, 'bob@shop.example'), website: fc.constant('https://shop.example') },
    url: fc.nat(20).map((number) => `https://hooks.example/${number}`),
    events: fc.subarray(['transaction.captured', 'transaction.refunded', 'dispute.opened', 'user.invited']),
    advance: fc.nat(3_600),
    ...{
      from: fc.constantFrom('2026-01-01', '2026-11-01T00:00:00Z'),
      to: fc.constantFrom('2027-01-01', '2026-12-01T00:00:00Z'),
    },
    step: fc.oneof(
      knownTogether('order', (part) => part('step')),
      fc.constantFrom(...STEPS),
    ),
    way: fc.constantFrom('iframe', 'redirect', 'poll'),
    custom: fc.jsonValue({ maxDepth: 2 }),
    returnUrl: fc.constant('https://shop.example/thanks'),
  },
  bodies: {
    'POST /merchants': merchant,
    'PUT /merchants/{merchantId}': fc.record(
      { name: fc.constantFrom('Shop', null), email: fc.constant('new@shop.example'), descriptor },
      { requiredKeys: [] },
    ),
    'POST /payments': order,
    'POST /payments/challenges/{step}': order,
    'POST /payments/challenges/{step}/{way}': order,
    'POST /vault': fc.constantFrom({ type: 'pcn', value: PAN }, { type: 'pcsc', value: CODE }),
    'POST /merchants/{merchantId}/transactions': fc.record(
      { transactionId: known('transactionId'), currency, amount, descriptor, reference },
      { requiredKeys: ['transactionId', 'currency', 'amount'] },
    ),
    'POST /merchants/{merchantId}/cards': fc.record({ transactionId: known('transactionId') }),
    'POST /transactions/{transactionId}/captures': fc.record({ amount }),
    'POST /transactions/{transactionId}/refunds': fc.record({ amount }),
    'POST /transactions/{transactionId}/voids': fc.record({ amount }),
  },
  params: {
    'DELETE /merchants/{merchantId}/users/{userId}': ofOneShop,
    'DELETE /merchants/{merchantId}/apps/{appId}': ofOneShop,
    'DELETE /merchants/{merchantId}/webhooks/{webhookId}': ofOneShop,
  },
  headers: {
    'idempotency-key': fc.nat(500).map((number) => `key-${number}`),
    'x-client': fc.constant('fuzz'),
    'x-request-id': fc.constantFrom('fuzz-1', 'a b', 'x'.repeat(65)),
  },
  isPrivileged: ({ path }) => /^\/(payments|vault)\b/.test(path),
  errorsOf: 'POST /merchants',
  pages: /^\/($|ready|health|docs|openapi\.json|pos|acs|invitations)(\/|$)/,
  normalPath: (path) => path,
  raw: { get: '/me', post: '/merchants' },
  surround: async (stack) => {
    const smtp = await startSmtpListener(
      createMailStore(() => new Date()),
      0,
    )
    stack.defer(smtp.close)
    const off = ['KEY', 'APPS', 'FAILURES', 'ADDRESS', 'REFUSALS', 'MAILS', 'INVITATIONS'].map((name) => [
      `PAYMENTS_RATE_${name}`,
      '0',
    ])
    return {
      env: { ...Object.fromEntries(off), PAYMENTS_SMTP_URL: `smtp://127.0.0.1:${smtp.port}` },
      prepare: async ({ ask, memory, deployment }) => {
        const { PAYMENTS_PEPPER, PAYMENTS_VAULT_KEYS } = deployment.secrets
        const secrets = new Map([
          ['pepper', PAYMENTS_PEPPER],
          ['vault key', PAYMENTS_VAULT_KEYS.replace(/^\d+:/, '')],
          ['card number', PAN],
        ])
        const keys: string[] = []
        const authorize = (role: string, actor: number) =>
          role === 'privileged' ? VERSION : basic(keys[actor % ACTORS])
        let round = 0
        const refresh = async () => {
          round += 1
          for (let actor = 0; actor < ACTORS; actor += 1) {
            const { key, publicKey, shop } = await createMerchant(ask, actor)
            keys[actor] = key
            memory.keep(actor, 'shop', shop)
            secrets.set(`key of app ${actor} in round ${round}`, key)
            memory.keep(actor, 'publicKey', publicKey)
            await sell({ ask, memory, actor, publicKey, step: STEPS[(round + actor) % STEPS.length] ?? '' })
          }
        }
        return { authorize, refresh, secrets }
      },
    }
  },
}

const FRICTIONLESS = { tds: { challenge: false } }
const CARD = [
  ['pcn', PAN],
  ['pcsc', CODE],
] as const
const SHOP = {
  ...{ currency: 'EUR', test: true, email: 'owner@shop.example', website: 'https://shop.example' },
  ...{ descriptor: 'FUZZ SHOP', company: { country: 'DK' }, bank: { iban: 'DK5000400440116243' } },
}

function basic(key: string | undefined): { readonly authorization: string } {
  return { authorization: `Basic ${Buffer.from(`:${key}`).toString('base64')}` }
}

/** Makes a new app with a merchant, since the last app may have lost its keys or its merchant. */
async function createMerchant(ask: Ask, actor: number) {
  const newApp = async (body: object) => NewApp.parse(await ask({ actor, method: 'POST', target: '/apps', body })).app
  const [other, app] = [await newApp({}), await newApp({ name: `Actor ${actor}` })]
  const headers = basic(app.key)
  const post = (target: string, body: object) => ask({ actor, method: 'POST', target, body, headers })
  const { merchant } = NewMerchant.parse(await post('/merchants', SHOP))
  const below = `/merchants/${merchant.id}`
  await post(`${below}/apps`, { appId: other.id })
  const { webhook } = NewWebhook.parse(await post(`${below}/webhooks`, { url: 'https://hooks.example/shop' }))
  await post(`${below}/users`, { email: INVITED })
  const [user] = z.tuple([User]).parse(await ask({ actor, method: 'GET', target: `${below}/users?limit=10`, headers }))
  const shop = { merchantId: merchant.id, userId: user.id, appId: other.id, webhookId: webhook.id }
  return { key: app.key, publicKey: merchant.key, shop }
}

interface Shopping {
  readonly ask: Ask
  readonly memory: Memory
  readonly actor: number
  readonly publicKey: string
  /** The step at which the order must be. */
  readonly step: string
}

/** Leaves a merchant with a payment that is captured and disputed, and a customer with an unfinished order. */
async function sell({ ask, memory, actor, publicKey: key, step }: Shopping): Promise<void> {
  const post = (target: string, body: object) => ask({ actor, method: 'POST', target, body })
  for (const [pool, value] of CARD) memory.keep(actor, pool, await tokenize(ask, actor, { type: pool, value }))
  const visitor = visitorOf(ask, actor)
  const order = { key, card: { number: PAN, code: CODE }, test: {} }
  await payOrder(visitor, { ...order, test: FRICTIONLESS })
  const transactionId = memory.pick(actor, 'transactionId', 1)
  await post(`/transactions/${transactionId}/captures`, { amount: 700 })
  await post(`/test/transactions/${transactionId}/disputes`, { amount: 100 })
  await post(`/test/transactions/${transactionId}/frauds`, {})
  const { number, code, hints } = await advanceOrder(visitor, order, step)
  memory.keep(actor, 'order', { key, number, code, hints, step })
}

async function tokenize(ask: Ask, actor: number, body: object): Promise<string> {
  return NewToken.parse(await ask({ actor, method: 'POST', target: '/vault', body, headers: VERSION })).token
}

function visitorOf(ask: Ask, actor: number): Pick<Visitor, 'ask'> {
  return {
    ask: async (method, target, body, headers = {}) => {
      const answer = await ask({ actor, method, target, body, headers })
      return typeof answer === 'string' ? answer : JSON.stringify(answer)
    },
  }
}
