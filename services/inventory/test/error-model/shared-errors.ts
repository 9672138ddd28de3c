import type { InjectOptions } from 'fastify'
import type { Scope } from '../../src/access/actor.ts'
import type { TokenVerifier } from '../../src/access/token-verifier.ts'
import type { InventoryDeps } from '../../src/deps.ts'
import * as errors from '../../src/errors.ts'
import { operatorForbidden, validationError } from '../../src/errors.ts'
import { Slots } from '../../src/rate-limits/concurrency-limits.ts'
import { operatorHeaders, testOperators, unverifiable } from '../operators.ts'
import { rawRequest, sendRaw } from '../raw-request.ts'
import {
  type Answer,
  brokenOff,
  type ErrorCase,
  type ErrorCases,
  json,
  send,
  unique,
  type World,
} from './error-case.ts'

const LOCATION = { code: 'SHELF', name: 'A shelf' }
const PRODUCT = { sku: 'SKU', attributes: '{}' }
const MOVEMENT = { type: 'receive', productId: 1, locationId: 1, quantity: 1 }
const RESERVATION = { productId: 1, locationId: 1, quantity: 1 }
const CSV = { 'content-type': 'text/csv' }
const remove = (url: string): InjectOptions => ({ method: 'DELETE', url })

/** A well-formed request for each operation. The errors below are answered before anything is read. */
const requests: Readonly<Record<string, InjectOptions>> = {
  'get /': { url: '/' },
  'get /docs': { url: '/docs' },
  'get /health': { url: '/health' },
  'get /locations': { url: '/locations' },
  'post /locations': json('POST', '/locations', LOCATION),
  'get /locations/{locationId}': { url: '/locations/1' },
  'patch /locations/{locationId}': json('PATCH', '/locations/1', { name: 'A shelf' }),
  'delete /locations/{locationId}': remove('/locations/99'),
  'get /movements': { url: '/movements' },
  'post /movements': json('POST', '/movements', MOVEMENT),
  'get /movements/{movementId}': { url: '/movements/1' },
  'get /openapi.json': { url: '/openapi.json' },
  'get /products': { url: '/products' },
  'post /products': json('POST', '/products', PRODUCT),
  'get /products/{productId}': { url: '/products/1' },
  'put /products/{productId}': json('PUT', '/products/99', PRODUCT),
  'patch /products/{productId}': json('PATCH', '/products/99', { sku: 'SKU' }),
  'delete /products/{productId}': remove('/products/99'),
  'get /products/export': { url: '/products/export' },
  'post /products/import': { method: 'POST', url: '/products/import', headers: CSV, payload: 'sku,attributes\n' },
  'get /operator/audit': { url: '/operator/audit' },
  'get /operator/imports': { url: '/operator/imports' },
  'post /operator/imports': { method: 'POST', url: '/operator/imports', headers: CSV, payload: 'sku,attributes\n' },
  'get /operator/imports/{importId}': { url: '/operator/imports/1' },
  'get /operator/low-stock': { url: '/operator/low-stock' },
  'get /operator/me': { url: '/operator/me' },
  'get /operator/overview': { url: '/operator/overview' },
  'get /ready': { url: '/ready' },
  'get /reservations': { url: '/reservations' },
  'post /reservations': json('POST', '/reservations', RESERVATION),
  'get /reservations/{reservationId}': { url: '/reservations/1' },
  'delete /reservations/{reservationId}': remove('/reservations/99'),
  'post /reservations/commit/{reservationId}': json('POST', '/reservations/commit/99', {}),
  'get /stock': { url: '/stock' },
  'get /stock/{productId}': { url: '/stock/1' },
  'get /stock/{productId}/{locationId}': { url: '/stock/1/1' },
  'get /users': { url: '/users' },
  'get /users/{userId}': { url: '/users/1' },
}

const DOCUMENTS = new Set(['get /docs', 'get /openapi.json'])
const OPEN = new Set(['get /', 'get /health', 'get /ready', ...DOCUMENTS])
const isOfOperators = (operation: string): boolean => operation.includes(' /operator/')
const isGuarded = (operation: string): boolean => !OPEN.has(operation) && !isOfOperators(operation)
const isLimited = (operation: string): boolean => isGuarded(operation) || isOfOperators(operation)
const isRead = (operation: string): boolean => operation.startsWith('get ')
const readsBody = (operation: string): boolean => !isRead(operation)
const isImport = (operation: string): boolean =>
  operation === 'post /products/import' || operation === 'post /operator/imports'

/** Recognizes tokens by their text: scopes joined by `_`, or the name of a fault. */
const tokenVerifier: TokenVerifier = {
  countKeys: async () => 1,
  verify: async (token) => {
    if (token === 'defect') throw new Error('a defect of the service')
    if (token === 'outage') throw errors.serviceUnavailable()
    if (token === 'unknown') return undefined
    return { actor: 'user-1', scopes: new Set<Scope>([token === 'read' ? 'inventory:read' : 'inventory:write']) }
  },
}
/** A defect before the handler of any request. */
const failing: InventoryDeps['tracing'] = {
  instrument: async (app) => {
    app.addHook('preHandler', () => Promise.reject(new Error('a defect of the service')))
  },
}
/**
 * A request with all credentials that it needs to be read: those of operators need an operator, and their changes an
 * Idempotency-Key.
 */
async function sendAllowed(
  world: World,
  operation: string,
  request: InjectOptions,
  {
    settings = {},
    instead = {},
  }: { settings?: Readonly<Record<string, string>>; instead?: Partial<InventoryDeps> } = {},
): Promise<Answer> {
  if (!isOfOperators(operation)) return send(await world.service(settings, instead), request)
  const service = await world.service(settings, { ...instead, operators: testOperators })
  return send(service, withHeaders(request, { ...operatorHeaders('admin'), 'idempotency-key': unique() }))
}
const withToken = async (world: World, request: InjectOptions, token: string): Promise<Answer> =>
  send(await world.service({}, { tokenVerifier }), withHeaders(request, { authorization: `Bearer ${token}` }))

function withHeaders(request: InjectOptions, headers: Readonly<Record<string, string>>): InjectOptions {
  return { ...request, headers: { ...request.headers, ...headers } }
}

/** A case for each operation that meets a condition, all with one error. */
function ofAll(
  applies: (operation: string) => boolean,
  raise: (world: World, request: InjectOptions, operation: string) => Promise<Answer>,
  expected?: ErrorCase['expected'],
): readonly ErrorCase[] {
  return Object.entries(requests)
    .filter(([operation]) => applies(operation))
    .map(([operation, request]) => ({
      operation,
      raise: (world) => raise(world, request, operation),
      ...(expected === undefined ? {} : { expected }),
    }))
}

const SMALL = { INVENTORY_MAX_BODY_BYTES: '1000', INVENTORY_IMPORT_MAX_BYTES: '1000' }
const LARGE = 'x'.repeat(1_001)
/** The rate limit counts by address, so each case has its own. */
let addresses = 0

/** Announces a body, and sends nothing of it. */
async function sendSilently(world: World, { method, url }: InjectOptions, operation: string): Promise<Answer> {
  const timeouts = { handlerTimeoutMs: 300, silenceMs: 300 }
  const operators = isOfOperators(operation) ? testOperators : undefined
  const port = await world.listen(await world.service({}, { timeouts, ...(operators && { operators }) }))
  const type = isImport(operation) ? 'text/csv' : 'application/json'
  const own = operators ? { ...operatorHeaders('admin'), 'Idempotency-Key': unique() } : {}
  const headers = Object.entries({ 'Content-Type': type, 'Content-Length': '100', ...own }).map((each) =>
    each.join(': '),
  )
  return sendRaw(port, rawRequest(`${method} ${url}`, headers))
}

export const sharedErrors: ErrorCases = {
  badRequest: ofAll(
    () => true,
    async (world, { method = 'GET', url }) =>
      sendRaw(await world.listen(await world.service()), rawRequest(`${method} ${url}`, ['no header'])),
  ),
  validationError: ofAll(
    () => true,
    (world, request, operation) => sendAllowed(world, operation, { ...request, url: `${request.url}?not%20known=1` }),
    validationError([{ path: 'not known', message: 'is not known here' }]),
  ),
  uriTooLong: ofAll(
    () => true,
    async (world, { method = 'GET', url }) =>
      sendRaw(await world.listen(await world.service()), rawRequest(`${method} ${url}?${'x'.repeat(9_000)}`)),
  ),
  headersTooLarge: ofAll(
    () => true,
    async (world, { method = 'GET', url }) =>
      sendRaw(await world.listen(await world.service()), rawRequest(`${method} ${url}`, [`X: ${'x'.repeat(20_000)}`])),
  ),
  notFound: [
    ...ofAll(
      (operation) => DOCUMENTS.has(operation) || isOfOperators(operation),
      async (world, request) => send(await world.service({ INVENTORY_DOCS_ENABLED: 'false' }), request),
      errors.notFound({}),
    ),
    {
      expected: errors.notFound({ page: '/docs' }),
      raise: async (world) => send(await world.service(), { url: '/nope' }),
    },
    {
      expected: errors.notFound({ suggestion: '/stock' }),
      raise: async (world) => send(await world.service({ INVENTORY_DOCS_ENABLED: 'false' }), { url: '/stocks' }),
    },
  ],
  operatorUnauthorized: ofAll(isOfOperators, async (world, request) =>
    send(await world.service({}, { operators: testOperators }), request),
  ),
  operatorForbidden: [
    ...ofAll(
      (operation) => operation === 'get /users',
      async (world, request) =>
        send(await world.service({}, { operators: testOperators }), withHeaders(request, operatorHeaders('admin'))),
      operatorForbidden({ details: { role: 'admin' } }),
    ),
    ...ofAll(
      (operation) => operation === 'post /operator/imports',
      async (world, request) =>
        send(await world.service({}, { operators: testOperators }), withHeaders(request, operatorHeaders('viewer'))),
      operatorForbidden({ details: { action: 'products.import', role: 'viewer' } }),
    ),
  ],
  idempotencyKeyMissing: ofAll(
    (operation) => operation === 'post /products' || operation === 'post /operator/imports',
    async (world, request) =>
      send(await world.service({}, { operators: testOperators }), withHeaders(request, operatorHeaders('admin'))),
  ),
  missingToken: ofAll(isGuarded, async (world, request) => send(await world.service({}, { tokenVerifier }), request)),
  invalidToken: ofAll(isGuarded, (world, request) => withToken(world, request, 'unknown')),
  readScopeMissing: ofAll(
    (operation) => isGuarded(operation) && isRead(operation),
    (world, request) => withToken(world, request, 'write'),
  ),
  writeScopeMissing: ofAll(
    (operation) => isGuarded(operation) && readsBody(operation),
    (world, request) => withToken(world, request, 'read'),
  ),
  requestTimeout: [
    ...ofAll((operation) => readsBody(operation) && !isImport(operation), sendSilently),
    ...ofAll(isImport, sendSilently, errors.requestTimeout(brokenOff(0))),
  ],
  payloadTooLarge: ofAll(readsBody, (world, request, operation) => {
    const headers = { 'content-type': 'application/json', ...request.headers, 'content-length': String(LARGE.length) }
    return sendAllowed(world, operation, { ...request, headers, payload: LARGE }, { settings: SMALL })
  }),
  unsupportedMediaType: ofAll(
    (operation) => readsBody(operation) && !isImport(operation),
    async (world, request) =>
      send(await world.service(), { ...withHeaders(request, { 'content-type': 'text/plain' }), payload: 'x' }),
  ),
  unsupportedFileType: ofAll(isImport, (world, request, operation) =>
    sendAllowed(world, operation, withHeaders(request, { 'content-type': 'text/plain' })),
  ),
  tooManyRequests: ofAll(isLimited, async (world, request, operation) => {
    const instead = isOfOperators(operation) ? { operators: testOperators } : {}
    const service = await world.service({ INVENTORY_RATE_LIMIT: '1' }, instead)
    const remoteAddress = `10.0.0.${++addresses}`
    await service.app.inject({ url: '/users/1', remoteAddress })
    return send(service, { ...request, remoteAddress })
  }),
  serverError: [
    ...ofAll(isGuarded, (world, request) => withToken(world, request, 'defect')),
    ...ofAll(
      (operation) => !isGuarded(operation),
      async (world, request) => send(await world.service({}, { tracing: failing }), request),
    ),
  ],
  serviceUnavailable: [
    ...ofAll(isGuarded, (world, request) => withToken(world, request, 'outage')),
    ...ofAll(isOfOperators, async (world, request) =>
      send(await world.service({}, { operators: unverifiable }), withHeaders(request, operatorHeaders('admin'))),
    ),
  ],
  serverBusy: ofAll(
    (operation) => operation === 'get /products/export' || isImport(operation),
    (world, request, operation) => {
      const full = new Slots({ all: 0, each: 0 })
      return sendAllowed(world, operation, request, { instead: { exports: full, imports: full } })
    },
  ),
}
