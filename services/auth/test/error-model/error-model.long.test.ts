import { readdirSync, readFileSync } from 'node:fs'
import { sendLongHeaders } from '@trestle/testing/hold-bodies.ts'
import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import { afterAll, describe, expect, it } from 'vitest'
import * as generalErrors from '../../src/errors.ts'
import * as ofProviders from '../../src/external-errors.ts'
import * as ofFactors from '../../src/factor-errors.ts'
import * as ofRequests from '../../src/request-errors.ts'
import type { TestAppOptions } from '../auth-app.ts'
import { type MailApp, openBeside, openMailApp } from '../mail-app.ts'
import { OPERATOR_SETTINGS } from '../operators.ts'
import { accountErrors } from './account-errors.ts'
import { adminErrors } from './admin-errors.ts'
import { bodyErrors, memberErrors } from './body-errors.ts'
import type { ErrorCase, Send, World } from './error-case.ts'
import { externalErrors } from './external-errors.ts'
import { factorErrors } from './factor-errors.ts'
import { failRoutes, failureErrors } from './failure-errors.ts'
import { hookErrors } from './hook-errors.ts'
import { idTokenErrors } from './id-token-errors.ts'
import { messageErrors } from './message-errors.ts'
import { operatorErrors } from './operator-errors.ts'
import { passkeyErrors } from './passkey-errors.ts'
import { never, requestErrors } from './request-errors.ts'
import { sessionErrors } from './session-errors.ts'
import { FEATURES } from './settings.ts'
import { operations, sharedErrors } from './shared-errors.ts'
import { signInErrors } from './sign-in-errors.ts'

const tables = [
  sharedErrors,
  idTokenErrors,
  bodyErrors,
  memberErrors,
  requestErrors,
  sessionErrors,
  signInErrors,
  messageErrors,
  accountErrors,
  adminErrors,
  operatorErrors,
  externalErrors,
  factorErrors,
  passkeyErrors,
  hookErrors,
  failureErrors,
]
const catalogue = { ...generalErrors, ...ofRequests, ...ofProviders, ...ofFactors }
const errors = Object.entries(catalogue).flatMap(([name, make]) =>
  typeof make === 'function' ? [[name, make] as const] : [],
)

/** The key of the service with the usual settings. All services use its database, clock and workers. */
const HOST = '{}'
/** The services of the cases. Cases with the same settings share one, so only one of them may replace dependencies. */
const services = new Map<string, Promise<MailApp>>()
/** The first case also starts its service. */
const TIMEOUT_MS = 120_000
const USUAL = {
  AUTH_EXTERNAL_PHONE_ENABLED: 'true',
  AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
  AUTH_RATE_LIMIT_HEADER: 'X-Real-Ip',
  AUTH_TRUSTED_PROXIES: '1',
}

/** Opens a service without its own workers: a separate database and queue would take most of the time. */
function openOnce(key: string, settings = {}, replace: TestAppOptions['replace'] = () => ({})): Promise<MailApp> {
  const openNext = async () => openBeside(await openOnce(HOST), { ...USUAL, ...settings }, { replace })
  const service = services.get(key) ?? (key === HOST ? openMailApp(USUAL) : openNext())
  services.set(key, service)
  return service
}

const world: World = {
  service: (settings = {}, replace) => openOnce(JSON.stringify(settings), settings, replace),
  failing: () =>
    openOnce(
      'failing',
      { ...FEATURES, ...OPERATOR_SETTINGS, AUTH_API_MAX_REQUEST_DURATION: '50ms' },
      ({ passwords }) => ({
        passwords: { ...passwords, verify: never },
        tracing: { instrument: failRoutes },
      }),
    ),
  broken: (name, replace) => openOnce(name, {}, replace),
}
afterAll(async () => {
  const host = services.get(HOST)
  services.delete(HOST)
  await Promise.all([...services.values()].map(async (service) => (await service).close()))
  await (await host)?.close()
})

/** Conflicts that end after some time. */
const WAITING: ReadonlySet<string> = new Set(['operatorChangeRunning', 'signingKeyTooYoung'])

/** The pairs of operation and status that the cases have raised. */
const raised = new Set<string>()
const patterns = operations.map(({ name, method, path }) => {
  const pattern = path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')
  return { name, method, pattern: new RegExp(`^${pattern}$`), isExact: !path.includes('{') }
})

/** Finds the operation of a request. `undefined` if the API document has none. */
function operationOf({ method = 'GET', url }: InjectOptions): string | undefined {
  const path = String(url).split('?', 1)[0] ?? ''
  const found = patterns.filter((operation) => operation.method === method && operation.pattern.test(path))
  return (found.find(({ isExact }) => isExact) ?? found[0])?.name
}

const send =
  (version: Readonly<Record<string, string>>): Send =>
  async (service, request) => {
    const answer = await service.app.inject({ ...request, headers: { ...request.headers, ...version } })
    const operation = operationOf(request)
    if (operation !== undefined && answer.statusCode >= 400) raised.add(`${operation} ${answer.statusCode}`)
    return answer
  }
const usual = send({})
const versioned = send({ 'x-supabase-api-version': '2024-01-01' })

type Answers = readonly [plain: LightMyRequestResponse, newer: LightMyRequestResponse]
const answers = new Map<ErrorCase, Promise<Answers>>()

/** The responses to a case in both versions. The first caller raises the error. Redirects have no version. */
function answersTo(one: ErrorCase): Promise<Answers> {
  const raise = async (): Promise<Answers> => {
    const plain = one.raise(world, usual)
    return Promise.all([plain, one.redirected === undefined ? one.raise(world, versioned) : plain])
  }
  const found = answers.get(one) ?? raise()
  answers.set(one, found)
  return found
}

it('finds every part of the catalogue named in errors.ts', () => {
  const src = new URL('../../src/', import.meta.url)
  const parts = readdirSync(src).filter((name) => name.endsWith('-errors.ts'))
  const [, head = ''] = readFileSync(new URL('errors.ts', src), 'utf8').split('\n\n')
  expect([...head.matchAll(/[a-z]+-errors\.ts/g)].map(([name]) => name).sort()).toEqual(parts.sort())
  expect(parts).toHaveLength(4)
})

it('has a case for every error of the catalogue, and no other', () => {
  const named = new Set(tables.flatMap((table) => Object.keys(table)))
  expect([...named].sort()).toEqual(errors.map(([name]) => name).sort())
})

const readReference = (name: string) =>
  readFileSync(new URL(`../../../../docs/reference/${name}.md`, import.meta.url), 'utf8')
const [auth, operators] = [readReference('auth'), readReference('console')]

it('names every code of the catalogue in a reference', () => {
  const codes = errors.flatMap(([, make]) => ('code' in make ? [String(make.code)] : []))
  // The console reference writes codes that all services share in capitals.
  const isNamed = (code: string) =>
    auth.includes(`\`${code}\``) || operators.includes(`\`${code}\``) || operators.includes(`\`${code.toUpperCase()}\``)
  expect(codes.filter((code) => !isNamed(code))).toEqual([])
})

it('names every text of the catalogue without values in a reference', () => {
  const texts = errors.flatMap(([, make]) => ('message' in make ? [String(make.message)] : []))
  const isNamed = (text: string) => auth.includes(`\`${text}\``) || operators.includes(text)
  // The reference has the first part of the texts about bodies only once, and each reason.
  const isReason = (text: string) =>
    text.startsWith('Could not parse request body as ') && isNamed(text.split(': ')[1] ?? '')
  expect(texts.filter((text) => !isNamed(text) && !isReason(text))).toEqual([])
})

/** The status, code and text of a case or of the catalogue. A case supplies texts that contain values. */
function declaredOf(make: object, { operation, expected, text }: ErrorCase) {
  const { status, code, message } = { ...make, ...expected, message: expected?.message ?? Reflect.get(make, 'message') }
  const words = text ?? String(message)
  const title = operation === undefined ? String(words) : `${words} (${operation})`
  return { status: Number(status), code: String(code), text: words, title }
}

describe.each(errors)('the error %s', (name, make) => {
  const cases: readonly ErrorCase[] = tables.flatMap((table) => table[name] ?? [])
  const ways = cases.map((one) => ({ ...one, ...declaredOf(make, one), one }))
  const [told, redirected] = [ways.filter((way) => !way.redirected), ways.filter((way) => way.redirected)]
  it.each(redirected)(
    'in a redirect, $code: $title',
    async ({ code, text, redirected: error, inFragment, one }) => {
      const [{ statusCode, headers }] = await answersTo(one)
      const { searchParams, hash } = new URL(String(headers.location))
      const words = typeof text === 'string' ? text : expect.stringMatching(text)
      const expected = { error, error_code: code, error_description: words }
      expect(Object.fromEntries(searchParams)).toEqual(inFragment ? {} : expected)
      // Without a flow, it is unknown which page would read a fragment.
      const fragment = Object.fromEntries(new URLSearchParams(hash.slice(1)))
      const told = hash === '' ? {} : { ...expected, sb: '' }
      expect([statusCode, fragment]).toEqual([hash === '' || inFragment ? 303 : 302, told])
      expect(headers['referrer-policy']).toBe('no-referrer')
    },
    TIMEOUT_MS,
  )
  it.each(told)(
    '$status: answers $code: $title',
    async ({ status, code, text, details = {}, oauth, one }) => {
      const [plain, newer] = await answersTo(one)
      const words = typeof text === 'string' ? text : expect.stringMatching(text)
      const oauthNames = oauth === undefined ? {} : { error: oauth, error_description: words }
      const id = status >= 500 ? { error_id: plain.headers['x-request-id'] } : {}
      const expected = { code: status, error_code: code, msg: words, ...id, ...details, ...oauthNames }
      const expectedNewer = { code, message: words, ...details, ...oauthNames }
      expect([plain.statusCode, plain.json()]).toEqual([status, expected])
      expect([newer.statusCode, newer.json()]).toEqual([status, expectedNewer])
      expect(Object.keys(plain.json())).toEqual(Object.keys(expected))
      expect(Object.keys(newer.json())).toEqual(Object.keys(expectedNewer))
      expect(plain.headers['x-supabase-api-version']).toBeUndefined()
      expect(newer.headers['x-supabase-api-version']).toBe('2024-01-01')
      const waits = status === 429 || status === 503 || WAITING.has(name)
      const retryAfter = waits ? expect.stringMatching(/^[1-9]\d*$/) : undefined
      for (const { headers } of [plain, newer]) {
        expect(headers['content-type']).toBe('application/json; charset=utf-8')
        expect(headers['x-content-type-options']).toBe('nosniff')
        expect(headers['retry-after']).toEqual(retryAfter)
      }
    },
    TIMEOUT_MS,
  )
})

it(
  '400: refuses a long URL at every operation, before it is known what it asks for',
  async () => {
    const service = await world.service()
    const msg = 'Malformed request'
    for (const { name, method, path } of operations) {
      const answer = await usual(service, { method, url: `${path}?x=${'x'.repeat(8_192)}` })
      const oauth = name === 'post /token' ? { error: 'invalid_request', error_description: msg } : {}
      const body = { code: 400, error_code: 'validation_failed', msg, ...oauth }
      expect([name, answer.statusCode, answer.json()]).toEqual([name, 400, body])
    }
  },
  TIMEOUT_MS,
)

it(
  '431: refuses long headers at every operation, before it is known what they ask for',
  async () => {
    const { app } = await world.service()
    const url = await app.listen({ host: '127.0.0.1', port: 0 })
    const body = { code: 431, error_code: 'validation_failed', msg: 'Malformed request' }
    for (const { name, method, path } of operations) {
      const answer = await sendLongHeaders(`${url}${path}`, method)
      expect([name, answer.status, answer.body]).toEqual([name, 431, body])
      expect(answer.headers).toEqual({
        connection: 'close',
        'content-length': String(JSON.stringify(body).length),
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
        'content-type': 'application/json; charset=utf-8',
        date: 'Fri, 02 Jan 2026 03:04:05 GMT',
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
      })
    }
  },
  TIMEOUT_MS,
)

it(
  'has a case for every error status that an operation documents, and no other',
  async () => {
    for (const one of tables.flatMap((table) => Object.values(table)).flat()) await answersTo(one)
    const documented = operations.flatMap(({ name, statuses }) => statuses.map((status) => `${name} ${status}`))
    const early = operations.flatMap(({ name }) => [`${name} 400`, `${name} 431`])
    expect([...new Set([...raised, ...early])].sort()).toEqual(documented.sort())
  },
  // If this test runs first, it raises every error itself.
  5 * TIMEOUT_MS,
)
