import { randomUUID } from 'node:crypto'
import type { OperatorAction } from '@trestle/operators/operator-roles.ts'
import type { InjectOptions } from 'fastify'
import { operatorHeaders } from '../operators.ts'
import { createTestApp, merchantBody } from '../payments-app.ts'
import { changedBatch, NO_ID, type World } from './world.ts'

/** The problem of a field: its name, message and code. */
export type Wrong = readonly [field: string, message: string, code: string]

/** An endpoint of the API document, a valid request, and its refusals. */
export interface Endpoint {
  /** The name as in the API document, such as `GET /me`. */
  readonly name: string
  /** Creates a valid request: its path, and its body if it has one. */
  readonly path: (world: World) => string
  readonly body?: ((world: World) => object | Promise<object>) | undefined
  /** The same path with an unknown id. */
  readonly unknown?: ((world: World) => string) | undefined
  /** Changes the request so that it gets 403. By default it uses the key of an app that is not a member. */
  readonly forbidden?: ((world: World) => InjectOptions | Promise<InjectOptions>) | undefined
  /** An invalid request, and the fields in its answer. */
  readonly bad?: { readonly request: (world: World) => InjectOptions; readonly fields: readonly Wrong[] } | undefined
}

/** Returns a valid request to an endpoint, from the world's owner or an operator. */
export async function requestOf({ name, path, body }: Endpoint, of: World): Promise<InjectOptions> {
  const method = name.split(' ', 1)[0] as 'GET' | 'POST' | 'PUT' | 'DELETE'
  const asOperator = { ...operatorHeaders('admin'), 'idempotency-key': randomUUID() }
  const credentials = name.includes(' /operator/') ? asOperator : of.owner.headers
  const headers = { ...credentials, 'accept-version': '1' }
  return { method, url: path(of), headers, ...(body ? { payload: await body(of) } : {}) }
}

const REQUIRED = ['is required', 'REQUIRED'] as const
const required = (...fields: readonly string[]): readonly Wrong[] => fields.map((field) => [field, ...REQUIRED])
const noLimit = (path: Endpoint['path']): Endpoint['bad'] => ({
  request: (world) => ({ url: path(world).replace(/[?&]limit=1/, '') }),
  fields: required('limit'),
})
const emptyBody = (...fields: readonly string[]): Endpoint['bad'] => ({
  request: () => ({ payload: {} }),
  fields: required(...fields),
})
/** Even an endpoint without its own values refuses a body that cannot be parsed. */
const brokenBody: Endpoint['bad'] = {
  request: () => ({ payload: '{', headers: { 'content-type': 'application/json' } }),
  fields: [['body', 'is not valid JSON', 'FORMAT']],
}

const below = ({ merchant }: World) => `/merchants/${merchant.id}`
const belowNone = `/merchants/${NO_ID}`
/** Users have no API keys. */
const asUser = ({ user }: World): InjectOptions => ({ headers: user })

/** Reads one object, as `GET /lines/{lineId}`. */
function single(noun: 'card' | 'dispute' | 'fraud' | 'line' | 'payout' | 'transaction'): Endpoint {
  return {
    name: `GET /${noun}s/{${noun}Id}`,
    path: ({ ids }) => `/${noun}s/${ids[noun]}`,
    unknown: () => `/${noun}s/${NO_ID}`,
  }
}

/** A list of a merchant, as `GET /merchants/{merchantId}/lines`. */
function list(noun: string): Endpoint {
  const path = (world: World) => `${below(world)}/${noun}?limit=1`
  return {
    name: `GET /merchants/{merchantId}/${noun}`,
    path,
    unknown: () => `${belowNone}/${noun}?limit=1`,
    bad: noLimit(path),
  }
}

/** A list with its merchant as a filter, as `GET /disputes`. */
function report(noun: string): Endpoint {
  const path = ({ merchant }: World) => `/${noun}?filter[merchantId]=${merchant.id}&limit=1`
  return {
    name: `GET /${noun}`,
    path,
    unknown: () => `/${noun}?filter[merchantId]=${NO_ID}&limit=1`,
    bad: noLimit(path),
  }
}

/** A POST about a merchant, a transaction or a dispute. */
function action(name: string, body: object | undefined, bad: Endpoint['bad']): Endpoint {
  const fill = (merchant: string, transaction: string, ids: Partial<World['ids']>) =>
    name
      .replace('POST ', '')
      .replace('{merchantId}', merchant)
      .replace('{transactionId}', transaction)
      .replace('{disputeId}', ids.dispute ?? NO_ID)
      .replace('{webhookId}', ids.webhook ?? NO_ID)
  return {
    name,
    path: ({ merchant, ids }) => fill(merchant.id, ids.transaction, ids),
    body: body && (() => body),
    unknown: () => fill(NO_ID, NO_ID, {}),
    bad,
  }
}

/** A DELETE of a merchant's object. */
function removal(noun: 'app' | 'user' | 'webhook'): Endpoint {
  return {
    name: `DELETE /merchants/{merchantId}/${noun}s/{${noun}Id}`,
    path: (world) => `${below(world)}/${noun}s/${NO_ID}`,
    unknown: (world) => `${below(world)}/${noun}s/${NO_ID}`,
    bad: brokenBody,
  }
}

/** Repeats a request after the caller has left the merchant of the request. */
async function repeatOfStranger({ payments }: World): Promise<InjectOptions> {
  const [maker, other] = [await createTestApp(payments), await createTestApp(payments)]
  const headers = { ...maker.headers, 'idempotency-key': 'once' }
  const response = await payments.app.inject({ method: 'POST', url: '/merchants', headers, payload: merchantBody })
  const url = `/merchants/${response.json().merchant.id}/apps`
  await payments.app.inject({ method: 'POST', url, headers: maker.headers, payload: { appId: other.id } })
  await payments.app.inject({ method: 'DELETE', url: `${url}/${maker.id}`, headers: other.headers })
  return { headers, payload: merchantBody }
}

/** All endpoints that need a key. */
export const keyedEndpoints: readonly Endpoint[] = [
  ...(['card', 'dispute', 'fraud', 'line', 'payout', 'transaction'] as const).map(single),
  ...['apps', 'events', 'lines', 'payouts', 'transactions', 'users', 'webhooks'].map(list),
  ...['disputes', 'frauds'].map(report),
  ...(['app', 'user', 'webhook'] as const).map(removal),
  { name: 'GET /me', path: () => '/me' },
  {
    name: 'GET /me/keys',
    path: () => '/me/keys?limit=1',
    forbidden: asUser,
    bad: noLimit(() => '/me/keys?limit=1'),
  },
  { name: 'POST /me/keys', path: () => '/me/keys', body: () => ({}), forbidden: asUser, bad: brokenBody },
  {
    name: 'DELETE /me/keys/{keyId}',
    path: ({ ids }) => `/me/keys/${ids.key}`,
    unknown: () => `/me/keys/${NO_ID}`,
    forbidden: asUser,
    bad: brokenBody,
  },
  {
    name: 'GET /identities/{identityId}/merchants',
    path: ({ owner }) => `/identities/${owner.id}/merchants?limit=1`,
    unknown: () => `/identities/${NO_ID}/merchants?limit=1`,
    bad: noLimit(({ owner }) => `/identities/${owner.id}/merchants?limit=1`),
  },
  {
    name: 'POST /merchants',
    path: () => '/merchants',
    body: () => merchantBody,
    forbidden: repeatOfStranger,
    bad: emptyBody('currency', 'email', 'website', 'descriptor', 'company.country'),
  },
  {
    name: 'GET /merchants/{merchantId}',
    path: below,
    unknown: () => belowNone,
  },
  {
    name: 'PUT /merchants/{merchantId}',
    path: below,
    body: () => ({ name: 'Coffee' }),
    unknown: () => belowNone,
    bad: {
      request: () => ({ payload: { currency: 'DKK', email: 'x' } }),
      fields: [
        ['email', 'must be an e-mail address', 'FORMAT'],
        ['currency', 'cannot be changed', 'IMMUTABLE'],
      ],
    },
  },
  {
    name: 'GET /merchants/{merchantId}/statement.csv',
    path: (world) => `${below(world)}/statement.csv?from=2026-03-01&to=2026-03-31`,
    unknown: () => `${belowNone}/statement.csv?from=2026-03-01&to=2026-03-31`,
    bad: { request: (world) => ({ url: `${below(world)}/statement.csv` }), fields: required('from', 'to') },
  },
  action('POST /merchants/{merchantId}/apps', { appId: NO_ID }, emptyBody('appId')),
  action('POST /merchants/{merchantId}/users', { email: 'b@example.com' }, emptyBody('email')),
  action('POST /merchants/{merchantId}/webhooks', { url: 'https://example.com/' }, emptyBody('url')),
  action('POST /merchants/{merchantId}/webhooks/{webhookId}/secrets', {}, brokenBody),
  action('POST /merchants/{merchantId}/cards', { transactionId: NO_ID }, emptyBody('transactionId')),
  action(
    'POST /merchants/{merchantId}/transactions',
    { transactionId: NO_ID, currency: 'EUR', amount: 1 },
    emptyBody('transactionId', 'currency', 'amount'),
  ),
  action('POST /transactions/{transactionId}/captures', { amount: 1 }, emptyBody('amount')),
  action('POST /transactions/{transactionId}/refunds', { amount: 1 }, emptyBody('amount')),
  action('POST /transactions/{transactionId}/voids', { amount: 1 }, emptyBody('amount')),
  action('POST /test/disputes/{disputeId}/outcomes', { outcome: 'won' }, emptyBody('outcome')),
  action('POST /test/merchants/{merchantId}/payouts', undefined, brokenBody),
  action('POST /test/merchants/{merchantId}/clock', { advance: 0 }, emptyBody('advance')),
  action('POST /test/transactions/{transactionId}/disputes', {}, brokenBody),
  action('POST /test/transactions/{transactionId}/frauds', {}, brokenBody),
]

const noOrder = emptyBody('integration.key', 'card.number', 'card.expiry.month', 'card.expiry.year', 'card.code')

/** The checkout's endpoints, which need no key. */
export const checkoutEndpoints: readonly Endpoint[] = [
  { name: 'POST /payments', path: () => '/payments', body: ({ order }) => order(), bad: noOrder },
  {
    name: 'POST /payments/challenges/{step}',
    path: () => '/payments/challenges/card-lookup',
    body: ({ order }) => order(),
    unknown: () => '/payments/challenges/none',
    bad: noOrder,
  },
  {
    name: 'POST /payments/challenges/{step}/{way}',
    path: () => '/payments/challenges/tds-challenge/poll',
    body: ({ order }) => order(),
    unknown: () => '/payments/challenges/tds-challenge/none',
    bad: noOrder,
  },
  { name: 'POST /vault', path: () => '/vault', body: () => ({ type: 'pcsc', value: '111' }), bad: emptyBody('type') },
]

/** `POST /apps`, which also needs no key. */
export const openEndpoint: Endpoint = {
  name: 'POST /apps',
  path: () => '/apps',
  body: () => ({}),
  bad: { request: () => ({ payload: { name: 5 } }), fields: [['name', 'must be a string', 'TYPE']] },
}

/** An endpoint of operators, which requires two credentials. */
export interface OperatorEndpoint extends Endpoint {
  /** The act of the endpoint. If it is `undefined`, any operator may call it. */
  readonly action?: OperatorAction
  /** Creates a changed object whose path is refused. */
  readonly changed?: (world: World) => Promise<string>
}

/** Returns the endpoint of operators that corresponds to an endpoint of members. */
function ofOperator(
  { name, path, unknown = path, ...endpoint }: Endpoint,
  { action: act }: Required<Pick<OperatorEndpoint, 'action'>>,
): OperatorEndpoint {
  const below = (of: Endpoint['path']) => (world: World) => `/operator${of(world)}`
  return { ...endpoint, name: name.replace(' ', ' /operator'), path: below(path), unknown: below(unknown), action: act }
}

/** A list for operators, as `GET /operator/disputes`. */
function ofOperatorList(noun: string, act: OperatorAction): OperatorEndpoint {
  const path = (id: string) => `/operator/${noun.replace('{merchantId}', id)}`
  const bad: Endpoint['bad'] = {
    request: ({ merchant }) => ({ url: `${path(merchant.id)}?limit=0` }),
    fields: [['limit', 'must be at least 1', 'RANGE']],
  }
  const endpoint = { name: `GET /operator/${noun}`, path: ({ merchant }: World) => path(merchant.id), bad, action: act }
  return noun.includes('{') ? { ...endpoint, unknown: () => path(NO_ID) } : endpoint
}

/** An unknown delivery id. */
const NO_UUID = '00000000-0000-0000-0000-000000000000'

export const operatorEndpoints: readonly OperatorEndpoint[] = [
  { name: 'GET /operator/me', path: () => '/operator/me' },
  {
    name: 'DELETE /operator/apps/{appId}/keys',
    path: () => `/operator/apps/${NO_ID}/keys`,
    action: 'apps.revoke-keys',
  },
  ofOperatorList('attempts', 'exceptions.read'),
  {
    name: 'POST /operator/attempts/{attemptId}/outcome',
    path: () => `/operator/attempts/${NO_ID}/outcome`,
    body: () => ({ outcome: 'declined' }),
    bad: emptyBody('outcome'),
    action: 'attempts.resolve',
  },
  ofOperatorList('audit', 'audit.read'),
  ofOperatorList('deliveries', 'deliveries.read'),
  {
    name: 'GET /operator/deliveries/{deliveryId}',
    path: () => `/operator/deliveries/${NO_UUID}`,
    unknown: () => `/operator/deliveries/${NO_UUID}`,
    action: 'deliveries.read',
  },
  {
    name: 'POST /operator/deliveries/{deliveryId}/replay',
    path: () => `/operator/deliveries/${NO_UUID}/replay`,
    unknown: () => `/operator/deliveries/${NO_UUID}/replay`,
    action: 'deliveries.replay',
  },
  ofOperatorList('exceptions', 'exceptions.read'),
  {
    name: 'GET /operator/exceptions/{merchantId}/{exceptionId}',
    path: ({ merchant }) => `/operator/exceptions/${merchant.id}/${NO_ID}`,
    unknown: ({ merchant }) => `/operator/exceptions/${merchant.id}/${NO_ID}`,
    action: 'exceptions.read',
  },
  {
    name: 'POST /operator/exceptions/{merchantId}/{exceptionId}/resolution',
    path: ({ merchant }) => `/operator/exceptions/${merchant.id}/${NO_ID}/resolution`,
    body: () => ({}),
    bad: brokenBody,
    action: 'exceptions.resolve',
  },
  ofOperatorList('payouts', 'payouts.read'),
  {
    name: 'GET /operator/payouts/{payoutId}',
    path: ({ ids }) => `/operator/payouts/${ids.payout}`,
    unknown: () => `/operator/payouts/${NO_ID}`,
    action: 'payouts.read',
  },
  ofOperatorList('payouts/batches', 'payouts.read'),
  {
    name: 'POST /operator/payouts/run',
    path: () => '/operator/payouts/run',
    body: () => ({}),
    bad: brokenBody,
    action: 'payouts.run',
  },
  {
    name: 'POST /operator/payouts/batches',
    path: () => '/operator/payouts/batches',
    body: () => ({ name: 'Trestle', iban: 'DK5000400440116243' }),
    bad: emptyBody('name', 'iban'),
    action: 'payouts.export',
  },
  {
    name: 'GET /operator/payouts/batches/{batchId}/files',
    path: () => `/operator/payouts/batches/${NO_ID}/files`,
    changed: changedBatch,
    action: 'payouts.export',
  },
  {
    name: 'POST /operator/payouts/{payoutId}/outcome',
    path: ({ ids }) => `/operator/payouts/${ids.payout}/outcome`,
    body: () => ({ outcome: 'settled' }),
    unknown: () => `/operator/payouts/${NO_ID}/outcome`,
    bad: emptyBody('outcome'),
    action: 'payouts.close',
  },
  ofOperatorList('frauds', 'disputes.read'),
  {
    name: 'POST /operator/disputes/{disputeId}/outcome',
    path: ({ ids }) => `/operator/disputes/${ids.dispute}/outcome`,
    body: () => ({ outcome: 'won' }),
    unknown: () => `/operator/disputes/${NO_ID}/outcome`,
    bad: emptyBody('outcome'),
    action: 'disputes.close',
  },
  ofOperator(action('POST /transactions/{transactionId}/disputes', {}, brokenBody), { action: 'disputes.open' }),
  ofOperatorList('apps', 'apps.read'),
  {
    name: 'GET /operator/overview',
    path: () => '/operator/overview',
    bad: { request: () => ({ url: '/operator/overview?test=x' }), fields: [['test', 'must be a boolean', 'TYPE']] },
    action: 'overview.read',
  },
  { name: 'GET /operator/currencies', path: () => '/operator/currencies', action: 'settings.read' },
  { name: 'GET /operator/reasons', path: () => '/operator/reasons', action: 'disputes.read' },
  { name: 'GET /operator/registration', path: () => '/operator/registration', action: 'settings.read' },
  {
    name: 'PUT /operator/registration',
    path: () => '/operator/registration',
    body: () => ({ isClosed: false }),
    bad: emptyBody('isClosed'),
    action: 'registration.change',
  },
  {
    name: 'GET /operator/search',
    path: () => '/operator/search?q=1',
    bad: { request: () => ({ url: '/operator/search' }), fields: required('q') },
    action: 'merchants.read',
  },
  {
    name: 'GET /operator/tasks',
    path: () => '/operator/tasks',
    bad: {
      request: () => ({ url: '/operator/tasks?state=x' }),
      fields: [['state', 'is not valid', 'FORMAT']],
    },
    action: 'tasks.read',
  },
  {
    name: 'POST /operator/tasks/{task}/retry',
    path: () => '/operator/tasks/payout/retry',
    unknown: () => '/operator/tasks/none/retry',
    action: 'tasks.retry',
  },
  ofOperatorList('disputes', 'disputes.read'),
  {
    name: 'GET /operator/disputes/{disputeId}',
    path: ({ ids }) => `/operator/disputes/${ids.dispute}`,
    unknown: () => `/operator/disputes/${NO_ID}`,
    action: 'disputes.read',
  },
  ofOperatorList('merchants', 'merchants.read'),
  {
    name: 'GET /operator/merchants/{merchantId}',
    path: ({ merchant }) => `/operator/merchants/${merchant.id}`,
    unknown: () => `/operator/merchants/${NO_ID}`,
    action: 'merchants.read',
  },
  ofOperatorList('merchants/{merchantId}/lines', 'merchants.read'),
  ofOperatorList('merchants/{merchantId}/events', 'merchants.read'),
  {
    name: 'PUT /operator/merchants/{merchantId}/pricing',
    path: ({ merchant }) => `/operator/merchants/${merchant.id}/pricing`,
    body: () => ({ rate: 1 }),
    unknown: () => `/operator/merchants/${NO_ID}/pricing`,
    bad: { request: () => ({ payload: { rate: -1 } }), fields: [['rate', 'must be at least 0', 'RANGE']] },
    action: 'merchants.price',
  },
  ofOperator(action('POST /merchants/{merchantId}/clock', { advance: 0 }, emptyBody('advance')), {
    action: 'merchants.advance-clock',
  }),
  ofOperatorList('transactions', 'transactions.read'),
  {
    name: 'GET /operator/transactions/{transactionId}',
    path: ({ ids }) => `/operator/transactions/${ids.transaction}`,
    unknown: () => `/operator/transactions/${NO_ID}`,
    action: 'transactions.read',
  },
  ofOperator(action('POST /transactions/{transactionId}/captures', { amount: 1 }, emptyBody('amount')), {
    action: 'transactions.capture',
  }),
  ofOperator(action('POST /transactions/{transactionId}/voids', { amount: 1 }, emptyBody('amount')), {
    action: 'transactions.void',
  }),
  ofOperator(action('POST /transactions/{transactionId}/refunds', { amount: 1 }, emptyBody('amount')), {
    action: 'transactions.refund',
  }),
]
