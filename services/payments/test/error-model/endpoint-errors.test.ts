import { NoConnectionError } from '@trestle/database/unavailable.ts'
import { memoryStore } from '@trestle/service/limiter-store.ts'
import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import * as errors from '../../src/errors.ts'
import { buildOpenApi } from '../../src/openapi.ts'
import { createRateLimits } from '../../src/rate-limits/rate-limits.ts'
import { UNLIMITED } from '../payments-app.ts'
import { checkoutEndpoints, type Endpoint, keyedEndpoints, openEndpoint, type Wrong } from './endpoints.ts'
import { buildBroken, failingDeps, openWorld, unknownKey, type World } from './world.ts'

type App = Awaited<ReturnType<typeof buildBroken>>

let world: World
let limited: App
/** A service for each error that all its dependencies raise. */
const broken = new Map<Error, App>()
beforeAll(async () => {
  world = await openWorld()
  const limits = createRateLimits(
    { ...UNLIMITED, requestsPerSecond: 1, checkoutsPerSecond: 1, appsPerMinute: 1 },
    memoryStore(),
  )
  limited = await buildBroken(world, { limits })
  for (const error of Object.values(FAULTS)) broken.set(error, await buildBroken(world, failingDeps(world, error)))
})
afterAll(async () => {
  await Promise.all([limited, ...broken.values()].map((app) => app.close()))
  await world.payments.close()
})

/** More requests than any limit of `limited` allows. */
const TOO_MANY = 5
const FAULTS = {
  lockTimeout: Object.assign(new pg.DatabaseError('canceling statement', 0, 'error'), { code: '55P03' }),
  bug: new Error('a secret in /etc/passwd'),
  outage: new NoConnectionError('away'),
}
const all = [...keyedEndpoints, ...checkoutEndpoints, openEndpoint]
const Operations = z.record(z.string(), z.object({ responses: z.record(z.string(), z.unknown()) }))
const Documented = z.object({ paths: z.record(z.string(), Operations) })
const documented = await statuses()

async function statuses(): Promise<ReadonlyMap<string, readonly number[]>> {
  const { paths } = Documented.parse(JSON.parse(JSON.stringify(await buildOpenApi())))
  return new Map(
    Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { responses }]) => [
        `${method.toUpperCase()} ${path}`,
        Object.keys(responses).map(Number),
      ]),
    ),
  )
}

async function requestOf({ name, path, body }: Endpoint, of: World): Promise<InjectOptions> {
  const method = name.split(' ', 1)[0] as 'GET' | 'POST' | 'PUT' | 'DELETE'
  const headers = { ...of.owner.headers, 'accept-version': '1' }
  return { method, url: path(of), headers, ...(body ? { payload: await body(of) } : {}) }
}

const withHeaders = (request: InjectOptions, headers: InjectOptions['headers']): InjectOptions => ({
  ...request,
  headers: { ...request.headers, ...headers },
})

/** An error of the catalogue, with the headers that go with it. */
function expectError(
  { statusCode, headers, body }: LightMyRequestResponse,
  { status, code, message }: { readonly status: number; readonly code: string; readonly message: string },
): void {
  expect([statusCode, body]).toEqual([status, `${JSON.stringify({ code, message })}\n`])
  expect(headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'x-status-code': code,
    'cache-control': 'no-store',
  })
  const isTemporary = status === 429 || status === 503 || code === 'CONFLICT'
  expect(headers['retry-after']).toEqual(isTemporary ? expect.stringMatching(/^[1-9]\d*$/) : undefined)
  expect('www-authenticate' in headers).toBe(status === 401)
}

function expectFields({ statusCode, headers, json }: LightMyRequestResponse, fields: readonly Wrong[]): void {
  expect([statusCode, json()]).toEqual([400, fields.map(([field, message, code]) => ({ field, message, code }))])
  expect(headers['x-status-code']).toBe('REQUEST_INVALID')
}

it('tests every endpoint of the API document, and no other', () => {
  expect(all.map(({ name }) => name).sort()).toEqual([...documented.keys()].sort())
})

/** The errors that all endpoints answer in the same way, and how to raise each of them. */
const shared: readonly {
  readonly error: { readonly status: number; readonly code: string; readonly message: string }
  readonly raise: (endpoint: Endpoint) => Promise<LightMyRequestResponse>
}[] = [
  {
    error: errors.unauthorized,
    raise: async (endpoint) => send(withHeaders(await requestOf(endpoint, world), unknownKey())),
  },
  {
    error: errors.notFound,
    raise: async (endpoint) => {
      const url = endpoint.unknown?.(world) ?? ''
      return send({ ...(await requestOf(endpoint, world)), url })
    },
  },
  { error: errors.conflict, raise: (endpoint) => raiseBy(FAULTS.lockTimeout, endpoint) },
  {
    error: errors.payloadTooLarge,
    raise: async (endpoint) => {
      const headers = { 'content-type': 'application/json' }
      return send(withHeaders({ ...(await requestOf(endpoint, world)), payload: ' '.repeat(131_073) }, headers))
    },
  },
  {
    error: errors.unsupportedMediaType,
    raise: async (endpoint) => {
      const headers = { 'content-type': 'text/plain' }
      return send(withHeaders({ ...(await requestOf(endpoint, world)), payload: 'x' }, headers))
    },
  },
  { error: errors.internalError, raise: (endpoint) => raiseBy(FAULTS.bug, endpoint) },
  { error: errors.serviceUnavailable, raise: (endpoint) => raiseBy(FAULTS.outage, endpoint) },
]

const send = (request: InjectOptions) => world.payments.app.inject(request)

/** Sends a good request to a service whose dependencies fail. */
async function raiseBy(error: Error, endpoint: Endpoint): Promise<LightMyRequestResponse> {
  const app = broken.get(error)
  if (!app) throw new Error('no service has this fault')
  return app.inject(await requestOf(endpoint, world))
}

/** Exceeds the limit of an endpoint: sends one request too many times from one address that no other endpoint uses. */
async function exceedLimit(
  endpoint: Endpoint,
  headers: InjectOptions['headers'] = {},
): Promise<LightMyRequestResponse> {
  const remoteAddress = `192.0.2.${1 + all.indexOf(endpoint)}`
  const request = { ...withHeaders(await requestOf(endpoint, world), headers), remoteAddress }
  for (let times = 1; times < TOO_MANY; times++) await limited.inject(request)
  return limited.inject(request)
}

describe.each(keyedEndpoints)('the errors of $name', (endpoint) => {
  const given = documented.get(endpoint.name) ?? []
  it.each(shared.filter(({ error }) => given.includes(error.status)))(
    '$error.status: answers $error.code',
    async ({ error, raise }) => expectError(await raise(endpoint), error),
  )

  if (given.includes(403))
    it('403: refuses without access', async () => {
      const { forbidden = ({ stranger }) => ({ headers: stranger.headers }) } = endpoint
      const { headers, ...changes }: InjectOptions = await forbidden(world)
      const request = { ...(await requestOf(endpoint, world)), ...changes }
      expectError(await send(withHeaders(request, headers)), errors.forbidden)
    })

  if (given.includes(400))
    it('400: names the fields that are wrong', async () => {
      const { headers, ...changes } = endpoint.bad?.request(world) ?? {}
      expectFields(
        await send(withHeaders({ ...(await requestOf(endpoint, world)), ...changes }, headers)),
        endpoint.bad?.fields ?? [],
      )
    })

  it('429: refuses beyond the rate', async () => {
    expectError(await exceedLimit(endpoint, unknownKey()), errors.rateLimited)
  })

  it('documents every status that it answers', () => {
    const answered = [401, 429, 500, 503]
    if (!endpoint.name.startsWith('GET')) answered.push(413, 415)
    if (endpoint.unknown) answered.push(404)
    if (endpoint.bad) answered.push(400)
    expect(given).toEqual(expect.arrayContaining(answered))
  })
})

describe.each(checkoutEndpoints)('the errors of $name', (endpoint) => {
  const given = documented.get(endpoint.name) ?? []
  const fromDatabase = [errors.conflict, errors.internalError, errors.serviceUnavailable]
  const ways = shared.filter(({ error }) => fromDatabase.some((each) => each === error) || error.status === 413)
  it.each(ways.filter(({ error }) => given.includes(error.status)))(
    '$error.status: answers $error.code',
    async ({ error, raise }) => expectError(await raise(endpoint), error),
  )

  if (given.includes(404))
    it('404: refuses an unknown path', async () => {
      const url = endpoint.unknown?.(world) ?? ''
      expectError(await send({ ...(await requestOf(endpoint, world)), url }), errors.endpointNotFound)
    })

  it('400: names the fields that are wrong', async () => {
    const { statusCode, headers, json } = await send({ ...(await requestOf(endpoint, world)), payload: {} })
    const fields = endpoint.bad?.fields ?? []
    const message = fields.map(([field, text]) => `${field} ${text}`).join('; ')
    expect([statusCode, json()]).toEqual([400, { code: 'REQUEST_INVALID', message }])
    expect(headers['x-status-code']).toBe('REQUEST_INVALID')
  })

  it('429: refuses beyond the rate', async () => expectError(await exceedLimit(endpoint), errors.rateLimited))
})

describe('POST /apps', () => {
  const given = documented.get(openEndpoint.name) ?? []
  const ways = shared.filter(({ error }) => ![401, 404, 409].includes(error.status))
  it.each(ways.filter(({ error }) => given.includes(error.status)))(
    '$error.status: answers $error.code',
    async ({ error, raise }) => expectError(await raise(openEndpoint), error),
  )

  it('400: names the fields that are wrong', async () => {
    expectFields(
      await send({ ...(await requestOf(openEndpoint, world)), payload: { name: 5 } }),
      openEndpoint.bad?.fields ?? [],
    )
  })

  it.each([
    ['closed', errors.registrationClosed],
    ['invited', errors.registrationInvited],
  ] as const)('403: refuses where registration is %s', async (registration, error) => {
    const app = await buildBroken(world, { registration })
    expectError(await app.inject(await requestOf(openEndpoint, world)), error)
    await app.close()
  })

  it('429: refuses beyond the rate', async () => expectError(await exceedLimit(openEndpoint), errors.rateLimited))
})
