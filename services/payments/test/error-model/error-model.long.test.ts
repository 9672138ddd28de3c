import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import type { ErrorFactory } from '@trestle/common/errors/define-error.ts'
import { NoConnectionError } from '@trestle/database/unavailable.ts'
import { mayDo } from '@trestle/operators/operator-roles.ts'
import { memoryStore } from '@trestle/rate-limits/limiter-store.ts'
import { sendLongHeaders } from '@trestle/testing/hold-bodies.ts'
import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import * as generalErrors from '../../src/errors.ts'
import { buildOpenApi } from '../../src/openapi.ts'
import * as operatorErrors from '../../src/operator-errors.ts'
import { createRateLimits } from '../../src/rate-limits/rate-limits.ts'
import { CHECKOUT_CORS, refusalHeaders, temporaryHeaders } from '../headers.ts'
import { operatorHeaders, testOperators } from '../operators.ts'
import { pageText } from '../page-text.ts'
import { UNLIMITED } from '../payments-app.ts'
import { createStubAcquirer } from '../stub-acquirer.ts'
import {
  checkoutEndpoints,
  type Endpoint,
  keyedEndpoints,
  type OperatorEndpoint,
  openEndpoint,
  operatorEndpoints,
  requestOf,
  type Wrong,
} from './endpoints.ts'
import {
  type OpenEndpoint,
  type OpenRefusal,
  openEndpoints,
  type PageAnswer,
  POS_HOST,
  TROUBLE,
  VAULT_HOST,
} from './open-endpoints.ts'
import { operatorRuleCases } from './operator-cases.ts'
import { ruleCases } from './rule-cases.ts'
import {
  buildBroken,
  buildRequiringTls,
  failingDeps,
  faultyDeps,
  NO_ID,
  openWorld,
  unknownKey,
  type World,
} from './world.ts'

const { declare: _, ...catalogue } = generalErrors
const errors = { ...catalogue, ...operatorErrors }
const cases = { ...ruleCases, ...operatorRuleCases }

type App = Awaited<ReturnType<typeof buildBroken>>

let world: World
let limited: App
/** A service with limits on failed checks and payments. */
let guarded: App
/** A service that requires TLS. */
let strict: App
/** A service for each error that a plugin before all handlers raises. */
const faulty = new Map<Error, App>()
/** A service for each error that all its dependencies raise. */
const broken = new Map<Error, App>()
beforeAll(async () => {
  const hosts = { posHost: POS_HOST, vaultHost: VAULT_HOST }
  const acquirers = new Map([['north', createStubAcquirer()]])
  world = await openWorld({ acquirers, operators: testOperators, ...hosts })
  const rateLimits = createRateLimits(
    { ...UNLIMITED, requestsPerSecond: 1, checkoutsPerSecond: 1, appsPerMinute: 1 },
    memoryStore(),
  )
  limited = await buildBroken(world, { rateLimits })
  const guesses = createRateLimits({ ...UNLIMITED, failuresPerMinute: 1, checkoutsPerSecond: 1 }, memoryStore())
  guarded = await buildBroken(world, { rateLimits: guesses })
  strict = await buildRequiringTls(world)
  for (const error of [FAULTS.bug, FAULTS.outage]) faulty.set(error, await buildBroken(world, faultyDeps(error)))
  for (const error of Object.values(FAULTS)) broken.set(error, await buildBroken(world, failingDeps(world, error)))
})
afterAll(async () => {
  await Promise.all([limited, guarded, strict, ...broken.values(), ...faulty.values()].map((app) => app.close()))
  await world.payments.close()
})

/** More requests than any limit of `limited` allows. */
const TOO_MANY = 5
const FAULTS = {
  lockTimeout: Object.assign(new pg.DatabaseError('canceling statement', 0, 'error'), { code: '55P03' }),
  bug: new Error('a secret in /etc/passwd'),
  outage: new NoConnectionError('away'),
}
const all = [...keyedEndpoints, ...checkoutEndpoints, openEndpoint, ...operatorEndpoints]

const withHeaders = (request: InjectOptions, headers: InjectOptions['headers']): InjectOptions => ({
  ...request,
  headers: { ...request.headers, ...headers },
})

/** The WWW-Authenticate header for each code of a 401. */
const CHALLENGES = new Map([
  ['UNAUTHORIZED', 'Basic realm="payments", charset="UTF-8"'],
  ['OPERATOR_UNAUTHORIZED', 'Bearer realm="payments"'],
])

/** Expects an error of the catalogue, with its headers. */
function expectError(
  { statusCode, headers, body, raw }: LightMyRequestResponse,
  { status, code, message }: { readonly status: number; readonly code: string; readonly message: string },
): void {
  expect([statusCode, body]).toEqual([status, `${JSON.stringify({ code, message })}\n`])
  const { headers: sent, url = '', method } = raw.req
  // The root of the vault's host also has a page for browsers.
  const isOfCheckout = /^\/(vault|payments)\b/.test(url) || (sent.host === VAULT_HOST && method !== 'GET')
  const isTemporary = status === 429 || status === 503 || message === errors.conflict().message
  expect(headers).toEqual(
    (isTemporary ? temporaryHeaders : refusalHeaders)(code, {
      ...(isOfCheckout ? CHECKOUT_CORS : {}),
      ...(status === 401 ? { 'www-authenticate': CHALLENGES.get(code) } : {}),
      // A browser gets a page there.
      ...(status === 404 && method === 'GET' && /^\/(\?|$)/.test(url) ? { vary: 'accept' } : {}),
      // The connection closes, because the rest of a long body is not read.
      ...(status === 413 ? { connection: 'close' } : {}),
    }),
  )
}

function expectFields({ statusCode, headers, json }: LightMyRequestResponse, fields: readonly Wrong[]): void {
  expect([statusCode, json()]).toEqual([400, fields.map(([field, message, code]) => ({ field, message, code }))])
  expect(headers['x-status-code']).toBe('REQUEST_INVALID')
}

/** An error of an endpoint, and the check of its answer. */
interface ErrorCase {
  readonly status: number
  readonly title: string
  readonly check: (endpoint: Endpoint) => Promise<void>
}

/** Returns a case that raises an error of the catalogue. */
function caseOf(error: ErrorFactory, raise: (endpoint: Endpoint) => Promise<LightMyRequestResponse>): ErrorCase {
  const { status, code } = error
  return { status, title: `answers ${code}`, check: async (endpoint) => expectError(await raise(endpoint), error) }
}

const send = (request: InjectOptions) => world.payments.app.inject(request)

/** Sends a request with an unknown id. */
const sendUnknown = async (endpoint: Endpoint) =>
  send({ ...(await requestOf(endpoint, world)), url: endpoint.unknown?.(world) ?? '' })

/** Sends a valid request to a service whose dependencies fail. */
async function raiseBy(error: Error, endpoint: Endpoint): Promise<LightMyRequestResponse> {
  const app = broken.get(error)
  if (!app) throw new Error('no service has this fault')
  return app.inject(await requestOf(endpoint, world))
}

/** Exceeds the limit of an endpoint from an address that no other endpoint uses. */
async function exceedLimit(
  endpoint: Endpoint,
  headers: InjectOptions['headers'] = {},
): Promise<LightMyRequestResponse> {
  const remoteAddress = `192.0.2.${1 + all.indexOf(endpoint)}`
  const request = { ...withHeaders(await requestOf(endpoint, world), headers), remoteAddress }
  for (let times = 1; times < TOO_MANY; times++) await limited.inject(request)
  return limited.inject(request)
}

const failures = [
  caseOf(errors.internalError, (endpoint) => raiseBy(FAULTS.bug, endpoint)),
  caseOf(errors.serviceUnavailable, (endpoint) => raiseBy(FAULTS.outage, endpoint)),
]
const locked = caseOf(errors.conflict, (endpoint) => raiseBy(FAULTS.lockTimeout, endpoint))
const tooLarge = caseOf(errors.payloadTooLarge, async (endpoint) => {
  const headers = { 'content-type': 'application/json' }
  return send(withHeaders({ ...(await requestOf(endpoint, world)), payload: ' '.repeat(131_073) }, headers))
})
const unreadable = caseOf(errors.unsupportedMediaType, async (endpoint) => {
  const headers = { 'content-type': 'text/plain' }
  return send(withHeaders({ ...(await requestOf(endpoint, world)), payload: 'x' }, headers))
})

const stranger: ErrorCase = {
  status: 403,
  title: 'refuses without access',
  check: async (endpoint) => {
    const { forbidden = ({ stranger: { headers } }) => ({ headers }) } = endpoint
    const { headers, ...changes }: InjectOptions = await forbidden(world)
    const request = { ...(await requestOf(endpoint, world)), ...changes }
    expectError(await send(withHeaders(request, headers)), errors.forbidden)
  },
}
const wrongFields: ErrorCase = {
  status: 400,
  title: 'names the fields that are wrong',
  check: async (endpoint) => {
    const { headers, ...changes } = endpoint.bad?.request(world) ?? {}
    const request = withHeaders({ ...(await requestOf(endpoint, world)), ...changes }, headers)
    expectFields(await send(request), endpoint.bad?.fields ?? [])
  },
}

/** Returns the errors of an endpoint that needs a key. The caller may have no access to the object. */
function keyedCases({ name, unknown, forbidden, bad }: Endpoint): readonly ErrorCase[] {
  const isWrite = !name.startsWith('GET')
  return [
    caseOf(errors.unauthorized, async (endpoint) => send(withHeaders(await requestOf(endpoint, world), unknownKey()))),
    caseOf(errors.rateLimited, (endpoint) => exceedLimit(endpoint, unknownKey())),
    ...failures,
    ...(bad ? [wrongFields] : []),
    ...(unknown || forbidden ? [stranger] : []),
    ...(unknown ? [caseOf(errors.notFound, sendUnknown)] : []),
    ...(isWrite ? [locked, tooLarge, unreadable] : []),
  ]
}

/** Returns the errors of a checkout endpoint, whose bodies are objects. */
function checkoutCases({ name, unknown }: Endpoint): readonly ErrorCase[] {
  return [
    {
      ...wrongFields,
      check: async (endpoint) => {
        const { statusCode, headers, json } = await send({ ...(await requestOf(endpoint, world)), payload: {} })
        const fields = endpoint.bad?.fields ?? []
        const message = fields.map(([field, text]) => `${field} ${text}`).join('; ')
        expect([statusCode, json()]).toEqual([400, { code: 'REQUEST_INVALID', message }])
        expect(headers['x-status-code']).toBe('REQUEST_INVALID')
      },
    },
    caseOf(errors.rateLimited, exceedLimit),
    tooLarge,
    ...failures,
    ...(unknown ? [caseOf(errors.endpointNotFound, sendUnknown)] : []),
    ...(name === 'POST /vault' ? [] : [locked]),
  ]
}

/** Sends a valid request to a service whose plugins fail, because some endpoints call no dependency. */
async function raiseBefore(error: Error, endpoint: Endpoint): Promise<LightMyRequestResponse> {
  const app = faulty.get(error)
  if (!app) throw new Error('no service has this fault')
  return app.inject(await requestOf(endpoint, world))
}

const NO_KEY = { 'x-trestle-operator-key': 'unknown' }

/** Refuses an operator whose role is too low. */
const forbiddenToViewers = (action: string): ErrorCase => ({
  status: 403,
  title: 'refuses a role below the action',
  check: async (endpoint) => {
    const { statusCode, json } = await send(withHeaders(await requestOf(endpoint, world), operatorHeaders('viewer')))
    const { code, message } = errors.operatorForbidden
    expect([statusCode, json()]).toEqual([403, { code, message, action, role: 'viewer' }])
  },
})
const withoutKey: ErrorCase = {
  status: 400,
  title: 'needs an Idempotency-Key',
  check: async (endpoint) => {
    const request = { ...(await requestOf(endpoint, world)), headers: operatorHeaders('admin') }
    expectFields(await send(request), [['Idempotency-Key', 'is required', 'REQUIRED']])
  },
}

/** Returns the errors of an operators' endpoint. */
const operatorCases = ({ name, action, bad, unknown, changed }: OperatorEndpoint): readonly ErrorCase[] => [
  caseOf(errors.operatorUnauthorized, async (endpoint) => send(withHeaders(await requestOf(endpoint, world), NO_KEY))),
  caseOf(errors.endpointNotFound, async (endpoint) => {
    const app = await buildBroken(world, { operators: undefined })
    const response = await app.inject(await requestOf(endpoint, world))
    await app.close()
    return response
  }),
  caseOf(errors.rateLimited, async (endpoint) => {
    const remoteAddress = `203.0.113.${1 + operatorEndpoints.findIndex((each) => each.name === name)}`
    const request = { ...withHeaders(await requestOf(endpoint, world), NO_KEY), remoteAddress }
    for (let times = 1; times < TOO_MANY; times++) await guarded.inject(request)
    return guarded.inject(request)
  }),
  caseOf(errors.internalError, (endpoint) => raiseBefore(FAULTS.bug, endpoint)),
  caseOf(errors.serviceUnavailable, (endpoint) => raiseBefore(FAULTS.outage, endpoint)),
  ...(action === undefined || mayDo('viewer', action) ? [] : [forbiddenToViewers(action)]),
  ...(bad ? [wrongFields] : []),
  ...(unknown ? [caseOf(errors.notFound, sendUnknown)] : []),
  ...(changed
    ? [caseOf(errors.batchChanged, async () => send({ url: await changed(world), headers: operatorHeaders('admin') }))]
    : []),
  ...(name.startsWith('GET') ? [] : [withoutKey, locked, tooLarge, unreadable]),
]

const closed = (['closed', 'invited'] as const).map((registration) => ({
  status: 403,
  title: `refuses where registration is ${registration}`,
  check: async (endpoint: Endpoint) => {
    const app = await buildBroken(world, { config: { ...world.payments.deps.config, registration } })
    const error = registration === 'closed' ? errors.registrationClosed : errors.registrationInvited
    expectError(await app.inject(await requestOf(endpoint, world)), error)
    await app.close()
  },
}))
const openCases = [
  wrongFields,
  ...closed,
  locked,
  tooLarge,
  unreadable,
  caseOf(errors.rateLimited, exceedLimit),
  ...failures,
]

const tables = [
  ...keyedEndpoints.map((endpoint) => ({ endpoint, cases: keyedCases(endpoint) })),
  ...checkoutEndpoints.map((endpoint) => ({ endpoint, cases: checkoutCases(endpoint) })),
  { endpoint: openEndpoint, cases: openCases },
  ...operatorEndpoints.map((endpoint) => ({ endpoint, cases: operatorCases(endpoint) })),
]

describe.each(tables)('the errors of $endpoint.name', ({ endpoint, cases }) => {
  it.each(cases)('$status: the service $title', ({ check }) => check(endpoint))
})

/** Sends a refused request of an open endpoint to the service that refuses it. */
async function sendRefused({ name, request }: OpenEndpoint, { changes = {}, by }: OpenRefusal) {
  const changed = typeof changes === 'function' ? await changes(world) : changes
  const apps = { limited: guarded, locked: broken.get(FAULTS.lockTimeout), strict }
  const remoteAddress = `198.51.100.${1 + openEndpoints.findIndex((endpoint) => endpoint.name === name)}`
  const sent = { ...request, ...changed, remoteAddress }
  const app = by ? apps[by] : world.payments.app
  if (!app) throw new Error('no service refuses this')
  if (by === 'limited') for (let times = 1; times < TOO_MANY; times++) await app.inject(sent)
  return app.inject(sent)
}

function expectPage({ statusCode, headers, body }: LightMyRequestResponse, status: number, { page }: PageAnswer): void {
  expect([statusCode, headers['content-type']]).toEqual([status, 'text/html; charset=utf-8'])
  expect([body.slice(0, 15), pageText(body)]).toEqual(['<!doctype html>', page])
  expect(headers['cache-control']).toBe('no-store')
}

describe.each(openEndpoints)('the errors of $name, which needs no credentials', (endpoint) => {
  it.each(endpoint.refusals)('$status: refuses $title', async (refusal) => {
    const response = await sendRefused(endpoint, refusal)
    if ('page' in refusal.answer) expectPage(response, refusal.status, refusal.answer)
    else if (typeof refusal.answer === 'function') expectError(response, refusal.answer)
    else expectFields(response, refusal.answer)
  })

  it.each([
    [500, FAULTS.bug, errors.internalError],
    [503, FAULTS.outage, errors.serviceUnavailable],
  ] as const)('%i: reveals nothing of the cause', async (status, fault, error) => {
    const response = await faulty.get(fault)?.inject(endpoint.request)
    if (!response) throw new Error('no service has this fault')
    if (endpoint.onFault === 'json') expectError(response, error)
    else expectPage(response, status, endpoint.onFault)
  })
})

const Answer = z.object({
  content: z.record(z.string(), z.unknown()),
  headers: z.record(z.string(), z.object({ $ref: z.string() })),
})
const Documented = z.object({
  paths: z.record(z.string(), z.record(z.string(), z.object({ responses: z.record(z.string(), z.unknown()) }))),
  components: z.object({
    responses: z.record(z.string(), Answer),
    headers: z.record(z.string(), z.object({ required: z.boolean().optional() })),
  }),
})
const Reference = z.object({ $ref: z.string() })
const nameOf = ({ $ref }: z.output<typeof Reference>) => $ref.slice($ref.lastIndexOf('/') + 1)

async function readDocument() {
  const { paths, components } = Documented.parse(JSON.parse(JSON.stringify(await buildOpenApi())))
  const answerOf = (value: unknown) => {
    const { data } = Reference.safeParse(value)
    const { content, headers } = Answer.parse(data ? components.responses[nameOf(data)] : value)
    const required = Object.entries(headers).filter(([, header]) => components.headers[nameOf(header)]?.required)
    return { types: Object.keys(content), required: required.map(([name]) => name.toLowerCase()) }
  }
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { responses }]) => ({
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase() as 'GET' | 'POST' | 'PUT' | 'DELETE',
      url: path.replaceAll(/\{\w+\}/g, NO_ID),
      statuses: Object.keys(responses).filter((status) => Number(status) >= 400),
      answerTo: (status: number) => answerOf(responses[status]),
    })),
  )
}

/** The API document as clients read it. It is built once, because this takes longer than a test. */
const operations = await readDocument()

/** Statuses that the server answers before it looks for a route. The tests below cover them. */
const EARLY = [414, 431]

it('has a case for every error status that an operation documents, and no other', async () => {
  const documented = operations.flatMap(({ name, statuses }) => statuses.map((status) => `${name} ${status}`))
  const raised = tables.flatMap(({ endpoint, cases }) => cases.map(({ status }) => `${endpoint.name} ${status}`))
  const open = openEndpoints.flatMap(({ name, refusals }) =>
    [...refusals.map(({ status }) => status), 500, 503].map((status) => `${name} ${status}`),
  )
  const names = [...all, ...openEndpoints].flatMap(({ name }) => EARLY.map((status) => `${name} ${status}`))
  expect([...new Set([...raised, ...open, ...names])].sort()).toEqual(documented.sort())
})

it('414: refuses a long URL at every operation as documented, at the root of each host', async () => {
  for (const { name, method, url, answerTo } of operations) {
    const hosts = url === '/' ? [POS_HOST, VAULT_HOST, 'payments.example'] : ['payments.example']
    const { types, required } = answerTo(414)
    const sent = new Set<string>()
    for (const host of hosts) {
      const response = await send({ method, url: `${url}?a=${'a'.repeat(8_192)}`, headers: { host } })
      const isPage = response.headers['content-type'] === 'text/html; charset=utf-8'
      if (isPage) expectPage(response, 414, TROUBLE)
      else expectError(response, errors.uriTooLong)
      sent.add(isPage ? 'text/html' : 'application/json')
      expect(required.filter((header) => !(header in response.headers))).toEqual([])
    }
    expect([name, new Set(types)]).toEqual([name, sent])
  }
})

it('431: refuses long headers at every operation as documented', async () => {
  await world.payments.app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = world.payments.app.server.address() as AddressInfo
  for (const { name, method, url, answerTo } of operations) {
    const { types, required } = answerTo(431)
    const { status, headers, body } = await sendLongHeaders(`http://127.0.0.1:${port}${url}`, method)
    const answer = [{ field: 'body', message: 'is not a well-formed request', code: 'FORMAT' }]
    expect([name, status, body, types]).toEqual([name, 431, answer, ['application/json']])
    expect(headers).toEqual(refusalHeaders('REQUEST_INVALID', { connection: 'close' }))
    expect(required.filter((header) => !(header in headers))).toEqual([])
  }
})

/** Errors that are raised at each endpoint, and factories of errors about fields. */
const RAISED_ABOVE = [
  'conflict',
  'forbidden',
  'immutable',
  'internalError',
  'invalidFields',
  'notFound',
  'operatorForbidden',
  'operatorUnauthorized',
  'payloadTooLarge',
  'rateLimited',
  'registrationClosed',
  'registrationInvited',
  'requestInvalid',
  'serviceUnavailable',
  'unauthorized',
  'unsupportedMediaType',
]

it('has a case for every error of the catalogue, and no other', () => {
  const names = Object.entries(errors).flatMap(([name, value]) => (typeof value === 'function' ? [name] : []))
  expect([...RAISED_ABOVE, ...Object.keys(cases)].sort()).toEqual(names.sort())
})

const reference = readFileSync(new URL('../../../../docs/reference/payments.md', import.meta.url), 'utf8')
const declared = Object.entries(errors).flatMap(([name, error]) =>
  typeof error === 'function' && 'status' in error ? [[name, error]] : [],
)

it.each(declared as [string, Partial<ErrorFactory>][])(
  '%s stands in the reference',
  (_name, { status, code, message }) => {
    const rows = reference.split('\n').filter((line) => line.startsWith(`| ${status} | \`${code}\` |`))
    // The texts of REQUEST_INVALID and GET /ready contain values. The reference describes their form.
    expect(rows.filter((row) => code === 'REQUEST_INVALID' || row.includes(message ?? ''))).toHaveLength(1)
  },
)

describe.each(Object.entries(cases))('the refusals of %s', (_name, cases) => {
  it.each(cases)('$status: answers $body', async ({ status, body, code, raise }) => {
    const answer = await raise(world)
    expect([answer.status, answer.body]).toEqual([status, body])
    expect(answer.headers['x-status-code']).toBe(code ?? codeOf(body))
    const retryAfter = status === 503 ? expect.stringMatching(/^[1-9]\d*$/) : undefined
    expect(answer.headers['retry-after']).toEqual(retryAfter)
  })
})

const Coded = z.object({ code: z.unknown() })

function codeOf(body: unknown): unknown {
  return Array.isArray(body) ? 'REQUEST_INVALID' : Coded.parse(body).code
}
