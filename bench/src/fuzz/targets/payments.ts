import { createMailStore } from '@trestle/stack/mail/mail-store.ts'
import { startSmtpListener } from '@trestle/stack/mail/smtp-listener.ts'
import fc from 'fast-check'
import { CARD_EXPIRY, ORDER_AMOUNT } from '../../canaries/orders.ts'
import type { Target } from '../target.ts'
import { known, knownTogether } from '../valid-value.ts'
import { basic, CODE, createMerchant, INVITED, leaveAtBank, linkOf, PAN, sell, VERSION } from './payments-shop.ts'

const ACTORS = 3
/** A card whose bank asks for nothing. */
const UNASKED_PAN = '1000000000010000'
const STEPS = ['card-lookup', 'device-fingerprint', 'tds-fingerprint', 'tds-challenge']

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
/** A merchant with a user, an app and a webhook of its own. */
const ofOneShop = knownTogether('shop', (part) => ({
  params: {
    merchantId: part('merchantId'),
    userId: part('userId'),
    appId: part('appId'),
    webhookId: part('webhookId'),
  },
}))
const ofInvitation = fc.record({ params: fc.record({ token: known('invitation') }) })
/** The return of a customer from the bank. The cookie is sealed for its page and its link. */
const ofCustomerAtBank = knownTogether('atBank', (part) => ({
  params: { pageId: part('pageId') },
  headers: [['cookie', part('cookie')] as const],
  query: Object.keys(linkOf('')).map((name) => [name, part(name)] as const),
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

/** Merchants with payments in every state. Their apps, other apps and customers send the requests. */
export const paymentsTarget: Target = {
  service: 'payments',
  actors: ACTORS,
  pools: new Set([
    ...pooled,
    'hint',
    'publicKey',
    'pcn',
    'pcsc',
    'order',
    'shop',
    'link',
    'state',
    'receipt',
    'invitation',
    'cookie',
    'atBank',
  ]),
  tokens: ['hint', 'pcn', 'pcsc'],
  lexicon: {
    ...Object.fromEntries(pooled.map((pool) => [pool, known(pool)])),
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
    'POST /transactions/{transactionId}/captures': fc.record({ amount }),
    'POST /transactions/{transactionId}/refunds': fc.record({ amount }),
    'POST /transactions/{transactionId}/voids': fc.record({ amount }),
  },
  together: {
    'GET /invitations/{token}': ofInvitation,
    'POST /invitations/{token}': ofInvitation,
    'GET /pos/pay/{pageId}': ofCustomerAtBank,
    'DELETE /merchants/{merchantId}/users/{userId}': ofOneShop,
    'DELETE /merchants/{merchantId}/apps/{appId}': ofOneShop,
    'DELETE /merchants/{merchantId}/webhooks/{webhookId}': ofOneShop,
  },
  headers: {
    'idempotency-key': fc.nat(500).map((number) => `key-${number}`),
    'x-client': fc.constant('fuzz'),
    accept: fc.constantFrom('text/html', 'application/json'),
    'x-request-id': fc.constantFrom('fuzz-1', 'a b', 'x'.repeat(65)),
  },
  credentialOf: ({ path }) =>
    path.startsWith('/operator/') ? 'operator' : /^\/($|(payments|vault)\b)/.test(path) ? 'none' : 'own',
  errorsOf: 'POST /merchants',
  pages: /^\/($|ready|health|docs|openapi\.json|pos|acs|invitations)(\/|$)/,
  // A slash at the end is ignored, behind the root too.
  normalPath: (path) => (path === '//' ? '/' : path),
  raw: { get: '/me', post: '/merchants' },
  surround: async (stack) => {
    const mails = createMailStore(() => new Date())
    const smtp = await startSmtpListener(mails, 0)
    stack.defer(smtp.close)
    const off = ['KEY', 'APPS', 'FAILURES', 'ADDRESS', 'REFUSALS', 'MAILS', 'INVITATIONS'].map((name) => [
      `PAYMENTS_RATE_${name}`,
      '0',
    ])
    return {
      env: {
        ...Object.fromEntries(off),
        PAYMENTS_SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
        // The root of the address that the requests go to is the vault, and the page of payment links too.
        PAYMENTS_VAULT_HOST: '127.0.0.1',
        PAYMENTS_POS_URL: 'http://127.0.0.1/pos',
      },
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
          // Mails of the last round, since they are sent in the background.
          for (const [actor, { text }] of mails.list().slice(0, ACTORS).entries()) {
            memory.keep(actor, 'invitation', /\/invitations\/([\w-]+)/.exec(text ?? '')?.[1] ?? '')
          }
          for (let actor = 0; actor < ACTORS; actor += 1) {
            const { key, publicKey, shop } = await createMerchant(ask, actor)
            keys[actor] = key
            memory.keep(actor, 'shop', shop)
            secrets.set(`key of app ${actor} in round ${round}`, key)
            memory.keep(actor, 'publicKey', publicKey)
            await sell({ ask, memory, actor, publicKey, step: STEPS[(round + actor) % STEPS.length] ?? '' })
            await leaveAtBank({ ask, memory, actor, publicKey })
          }
        }
        return { authorize, refresh, secrets }
      },
    }
  },
}
