import { type LimiterStore, memoryStore } from '@trestle/rate-limits/limiter-store.ts'
import { anyUuid } from '@trestle/testing/any-text.ts'
import { holdBodies } from '@trestle/testing/hold-bodies.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refusals, statusAndBody } from '../../test/bodies.ts'
import { refusalHeaders, temporaryHeaders } from '../../test/headers.ts'
import {
  basic,
  createTestApp,
  createTestMerchant,
  merchantBody,
  startPayments,
  type TestApp,
  type TestPayments,
} from '../../test/payments-app.ts'

/** The number of bodies of unknown size that one client may have: 2 MiB in total, at 128 KiB each. */
const BODIES_OF_CLIENT = 16

describe('authenticate', () => {
  const lines: Record<string, unknown>[] = []
  let payments: TestPayments
  let app: TestApp
  beforeAll(async () => {
    payments = await startPayments({ onLog: (line) => lines.push(line) })
    app = await createTestApp(payments)
  })
  afterAll(() => payments.close())

  it.each<[string, Record<string, string>]>([
    ['no header', {}],
    ['another scheme', { authorization: 'Bearer x' }],
    ['a key alone', { authorization: 'Basic a2V5' }],
    ['a user name', { authorization: `Basic ${Buffer.from('user:key').toString('base64')}` }],
    ['bad base64', { authorization: 'Basic !!!' }],
    ['an unknown key', { ...basic('00000000-0000-4000-8000-000000000000') }],
    ['bytes that are no text', { authorization: 'Basic Ov//AA==' }],
  ])('401: refuses %s', async (_name, headers) => {
    const response = await payments.app.inject({ url: '/me', headers })
    expect(response.statusCode).toBe(401)
    expect(response.headers).toEqual(
      refusalHeaders('UNAUTHORIZED', { 'www-authenticate': 'Basic realm="payments", charset="UTF-8"' }),
    )
    expect(response.body).toBe(
      '{"code":"UNAUTHORIZED","message":"The API key is missing, malformed, unknown or revoked"}\n',
    )
  })

  // ASVS 16.3.1, 16.3.2, 16.3.3
  it('notes identity and merchant in the log line, whatever the answer, and never the key', async () => {
    const { id } = await createTestMerchant(payments, app)
    const stranger = await createTestApp(payments)
    lines.length = 0
    await payments.app.inject({ url: `/merchants/${id}`, headers: app.headers })
    await payments.app.inject({ url: `/merchants/${id}`, headers: stranger.headers })
    await payments.app.inject({ url: '/me', headers: basic('x') })
    const line = {
      time: expect.any(Number),
      duration_ms: expect.any(Number),
      request_id: anyUuid,
      method: 'GET',
      msg: 'request',
    }
    const merchant = { ...line, route: '/merchants/{merchant_id}', path: `/merchants/${id}`, merchant_id: id }
    expect(lines).toEqual([
      { ...merchant, level: 30, status: 200, identity_id: app.id },
      { ...merchant, level: 40, status: 403, identity_id: stranger.id, error_code: 'FORBIDDEN' },
      { ...line, level: 40, route: '/me', path: '/me', status: 401, error_code: 'UNAUTHORIZED' },
    ])
    expect(JSON.stringify(lines)).not.toContain(app.key)
  })

  it('201: creates a merchant while slow bodies with another known key at the same address hold their share', async () => {
    const url = await payments.app.listen({ host: '127.0.0.1', port: 0 })
    const slow = await createTestApp(payments)
    for (const { headers } of [app, slow]) await payments.app.inject({ url: '/me', headers })
    const path = '/merchants'
    await using held = await holdBodies(url, BODIES_OF_CLIENT, { method: 'POST', path, headers: slow.headers })
    const answer = await fetch(url + path, {
      method: 'POST',
      headers: { ...app.headers, 'content-type': 'application/json' },
      body: JSON.stringify(merchantBody) + ' '.repeat(50_000),
    })
    expect(answer.status).toBe(201)
    expect(held.countAnswered()).toBe(0)
  })
})

describe('rate limits', () => {
  let payments: TestPayments
  let app: TestApp
  let other: TestApp
  beforeAll(async () => {
    payments = await startPayments({ rateLimits: { requestsPerSecond: 2, appsPerMinute: 3, failuresPerMinute: 2 } })
    app = await createTestApp(payments)
    other = await createTestApp(payments)
  })
  afterAll(() => payments.close())

  const limited = temporaryHeaders('RATE_LIMITED')

  const [, tooMany] = refusals.rateLimited

  // ASVS 2.4.1
  it('429: refuses the fifth request of a key within two seconds, before any look at body or object', async () => {
    const get = ({ headers }: TestApp) => payments.app.inject({ url: '/merchants/x', headers })
    const answers = await Promise.all(Array.from({ length: 5 }, () => get(app)))
    const [response, ...others] = answers.toSorted((a, b) => b.statusCode - a.statusCode)
    expect([response?.statusCode, response?.headers, response?.json()]).toEqual([429, limited, tooMany])
    for (const answer of [...others, await get(other)]) {
      expect(statusAndBody(answer)).toEqual(refusals.notFound)
    }
  })

  it('429: refuses the fourth new app of an address within a minute', async () => {
    const post = () => payments.app.inject({ method: 'POST', url: '/apps' })
    expect((await post()).statusCode).toBe(201)
    const response = await post()
    expect([response.statusCode, response.headers, response.json()]).toEqual([429, limited, tooMany])
  })

  // ASVS 2.4.1, 6.3.1
  it('429: refuses the third bad key of an address within a minute, while good keys still pass', async () => {
    // Use a separate address. Once an address has no failures left, requests with its keys are no longer counted.
    const remoteAddress = '192.0.2.7'
    const get = (headers: object) => payments.app.inject({ url: '/me', headers: { ...headers }, remoteAddress })
    for (const headers of [{}, basic('x')]) {
      const refused = await get(headers)
      expect(statusAndBody(refused)).toEqual(refusals.unauthorized)
    }
    const response = await get(basic('y'))
    expect([response.statusCode, response.headers, response.json()]).toEqual([429, limited, tooMany])
    expect((await get(other.headers)).statusCode).toBe(200)
  })
})

describe('users by their tokens', () => {
  const ADDRESSES = new Map([
    ['kelvin', '\u212aate@example.com'],
    ['kate', 'kate@example.com'],
    ['grace', 'grace@example.com'],
    ['GRACE', 'GRACE@Example.com'],
  ])
  let payments: TestPayments
  beforeAll(async () => {
    const rateLimits = { requestsPerSecond: 2 }
    payments = await startPayments({ rateLimits, verifyUser: async (token) => ADDRESSES.get(token) })
  })
  afterAll(() => payments.close())

  /** Returns the users whose requests got status 200, and the refusals. */
  const outcomesOf = (...tokens: string[]) =>
    Promise.all(
      tokens.map(async (token) => {
        const response = await payments.app.inject({ url: '/me', headers: { authorization: `Bearer ${token}` } })
        return response.statusCode === 200 ? response.json().identity.email : statusAndBody(response)
      }),
    )

  it('429: count together in any case of the letters A to Z', async () => {
    const outcomes = await outcomesOf('grace', 'GRACE', 'grace', 'GRACE', 'grace')
    expect(outcomes.filter((outcome) => typeof outcome !== 'string')).toEqual([refusals.rateLimited])
  })

  it('200: use up no requests of a user whose address has another letter', async () => {
    const outcomes = await outcomesOf(...Array.from({ length: 5 }, () => 'kelvin'))
    expect(outcomes).toContainEqual(refusals.rateLimited)
    expect(await outcomesOf('kate')).toEqual(['kate@example.com'])
  })
})

describe('keys of an address that has used its failures up', () => {
  const counted: string[] = []
  const memory = memoryStore()
  const limiterStore: LimiterStore = (name, window) => {
    const limiter = memory(name, window)
    const consume = (key: string) => {
      counted.push(name)
      return limiter.consume(key)
    }
    return { ...limiter, consume }
  }
  let payments: TestPayments
  let app: TestApp
  beforeAll(async () => {
    payments = await startPayments({ rateLimits: { requestsPerSecond: 2, failuresPerMinute: 2 }, limiterStore })
    app = await createTestApp(payments)
  })
  afterAll(() => payments.close())

  /** Returns 200, or the status and body of the refusal. */
  const outcomeOf = async (headers: object) => {
    const response = await payments.app.inject({ url: '/me', headers: { ...headers } })
    return response.statusCode === 200 ? 200 : statusAndBody(response)
  }

  it('429: are not counted as requests until one of them has been found good', async () => {
    for (const key of ['a', 'b']) expect(await outcomeOf(basic(key))).toEqual(refusals.unauthorized)
    expect(counted.splice(0)).toEqual(['request', 'failure', 'request', 'failure'])
    for (const key of ['c', 'd']) expect(await outcomeOf(basic(key))).toEqual(refusals.rateLimited)
    expect(counted.splice(0)).toEqual(['failure', 'failure'])
    const outcomes: unknown[] = []
    for (const _ of Array.from({ length: 6 })) outcomes.push(await outcomeOf(app.headers))
    expect(outcomes).toEqual([200, 200, 200, 200, 200, refusals.rateLimited])
    expect(counted).toEqual(Array.from({ length: 5 }, () => 'request'))
  })
})
