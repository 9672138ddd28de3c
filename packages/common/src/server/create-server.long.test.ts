import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { createNoopMeter } from '@opentelemetry/api'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { plainErrors, plainVocabulary } from '../../test/plain-vocabulary.ts'
import { answerReady, createReadiness } from '../lifecycle/readiness.ts'
import { httpTelemetry } from '../telemetry/http-telemetry.ts'
import { createLogger, type ServiceLogger } from '../telemetry/logger.ts'
import { createMetrics, type Metrics } from '../telemetry/metrics.ts'
import { createServer, type Server, type ServerOptions } from './create-server.ts'

const folder = mkdtempSync(join(tmpdir(), 'trestle-server-'))
const file = join(folder, 'deep', 'app.log')
let log: ServiceLogger
let app: Server
let metrics: Metrics
const readiness = createReadiness({ database: async () => {} })

/** Creates a server that accepts bodies of one byte. Tests add their own routes. */
function openSmallServer(options: Partial<Pick<ServerOptions, 'logger' | 'trustedProxies'>> = {}): Server {
  return createServer({
    logger: log.logger,
    vocabulary: plainVocabulary,
    now: () => new Date('2026-01-02T03:04:05Z'),
    bodyLimit: 1,
    handlerTimeoutMs: 300,
    ...options,
  })
}

beforeAll(async () => {
  log = createLogger({ level: 'info', file, stdout: false })
  metrics = await createMetrics({
    enabled: true,
    exporter: 'prometheus',
    host: '127.0.0.1',
    port: 0,
    resource: { 'service.name': 'example' },
  })
  app = createServer({
    logger: log.logger,
    vocabulary: plainVocabulary,
    now: () => new Date('2026-01-02T03:04:05Z'),
    requestIdHeader: 'x-request-id',
    bodyLimit: 100,
    handlerTimeoutMs: 300,
    brokenRequestHeaders: () => ({ 'x-content-type-options': 'nosniff' }),
  })
  await app.register(httpTelemetry, { meter: metrics.meter })
  app.get('/ready', () => answerReady(readiness, plainErrors.notReady))
  app.get<{ Params: { thingId: string } }>('/things/:thingId', async (request) => {
    request.logFields = { own: 'field', password: 'hush' }
    return { id: request.params.thingId }
  })
  app.post('/things', { schema: { body: z.object({ name: z.string() }) } }, async () => ({}))
  app.get('/gone', async () => {
    throw new Error('gone')
  })
  app.get('/busy', async () => {
    throw plainErrors.busy()
  })
  app.get('/broken', async () => {
    throw new Error('SELECT secret FROM table')
  })
  app.get('/slow', () => new Promise<void>(() => {}))
  await app.listen({ port: 0, host: '127.0.0.1' })
})

afterAll(async () => {
  await app.close()
  await metrics.close()
  await log.flush()
  rmSync(folder, { recursive: true })
})

describe('errors', () => {
  // ASVS 4.1.1, 16.5.1
  it.each([
    ['GET', '/nothing', undefined, 404, { status: 404, code: 'not_found', message: 'Not found' }],
    ['DELETE', '/things/1', undefined, 405, { status: 405, code: 'method_not_allowed', message: 'Method not allowed' }],
    ['POST', '/things', '{"name":1}', 400, { status: 400, code: 'invalid', message: 'Invalid', paths: ['name'] }],
    ['POST', '/things', '{', 400, { status: 400, code: 'malformed', message: 'Malformed request' }],
    ['POST', '/things', `{"name":"${'x'.repeat(100)}"}`, 413, { status: 413, code: 'too_large', message: 'Too large' }],
    ['GET', '/gone', undefined, 503, { status: 503, code: 'away', message: 'Away' }],
    ['GET', '/broken', undefined, 500, { status: 500, code: 'defect', message: 'Defect' }],
    ['GET', '/slow', undefined, 504, { status: 504, code: 'late', message: 'Late' }],
    ['GET', '/things/%zz', undefined, 400, { status: 400, code: 'malformed', message: 'Malformed request' }],
  ] as const)('answers %s %s in the envelope (%#)', async (...row) => {
    const [method, url, payload, status, body] = row
    const headers = payload === undefined ? {} : { 'content-type': 'application/json' }
    const answer = await app.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) })
    expect([answer.statusCode, answer.json()]).toEqual([status, body])
    expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
  })

  it('405: names the methods of a path', async () => {
    const answer = await app.inject({ method: 'DELETE', url: '/things/1?x=y' })
    expect(answer.headers.allow).toBe('GET, HEAD')
  })

  it.each([
    ['nonsense\r\n\r\n', 400],
    [`GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, 431],
    ['GET /things/1 HTTP/1.1\r\nConnection: close\r\nHost: a\r\nhOST: b\r\n\r\n', 400],
    ['GET /things/1 HTTP/1.1\r\nConnection: close\r\nHost: a\r\nHost: a\r\n\r\n', 400],
  ])('answers a broken HTTP request in the envelope too, with the same status in both', async (bytes, status) => {
    const text = await exchange(bytes)
    expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    expect(text).toContain('x-content-type-options: nosniff')
    expect(text).toMatch(/\r\ndate: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT\r\n/i)
    expect(text).toContain(`{"status":${status},"code":"malformed","message":"Malformed request"}`)
  })

  it('405: refuses QUERY, which no route takes, with and without a media type', async () => {
    for (const more of ['', 'Content-Type: application/json\r\nContent-Length: 2\r\n']) {
      const text = await exchange(
        `QUERY /things/1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${more}\r\n${more && '{}'}`,
      )
      expect(text).toMatch(/^HTTP\/1\.1 405 .*\r\nallow: GET, HEAD\r\n/s)
      expect(text).toContain('{"status":405,"code":"method_not_allowed","message":"Method not allowed"}')
    }
  })

  // ASVS 13.4.4
  it('405: refuses TRACE, which would repeat the headers of a request', async () => {
    const text = await exchange('TRACE /things/1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Own: secret\r\n\r\n')
    expect(text).toMatch(/^HTTP\/1\.1 405 /)
    expect(text).not.toContain('secret')
  })

  // ASVS 4.2.1
  it.each([
    ['a length beside chunks', 'Content-Length: 4\r\nTransfer-Encoding: chunked'],
    ['two lengths', 'Content-Length: 5\r\nContent-Length: 0'],
    ['a coding after chunks', 'Transfer-Encoding: chunked, identity'],
    ['a length with a sign', 'Content-Length: +5'],
    ['a name with a space behind it', 'Content-Length : 5'],
  ])('400: refuses %s, since a proxy may see another end of the request', async (_case, headers) => {
    const text = await exchange(
      `POST /things HTTP/1.1\r\nHost: a\r\n${headers}\r\n\r\n0\r\n\r\nGET /things/1 HTTP/1.1\r\n\r\n`,
    )
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400'])
  })

  it('400: refuses CONNECT, which asks for a tunnel, and closes the connection', async () => {
    const text = await exchange('CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n')
    expect(text).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n.*\r\nconnection: close\r\n\r\n\{.*\}$/s)
  })

  it('ignores an expectation that it does not know', async () => {
    const text = await exchange('GET /things/1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\nExpect: tea\r\n\r\n')
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n.*\r\n\r\n\{"id":"1"\}$/s)
  })
})

function connectToApp(): Socket {
  return connect(Number(new URL(app.listeningOrigin).port), '127.0.0.1')
}

/** Sends raw bytes, and returns what arrives until the server closes. */
function exchange(bytes: string): Promise<string> {
  const socket = connectToApp()
  socket.write(bytes)
  return text(socket)
}

it('408: closes the connection when a body does not arrive in time', async () => {
  const head = 'POST /things HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n'
  const answer = await exchange(`${head}{"name"`)
  expect(answer).toMatch(/^HTTP\/1\.1 408 .*connection: close.*"code":"slow_body"/is)
})

describe('a refused body', () => {
  const MIB = 1024 * 1024
  const CLOSE = 'Connection: close\r\n'
  const JSON_TYPE = 'Content-Type: application/json\r\n'
  const headOf = (length: string, more = CLOSE + JSON_TYPE, route = 'POST /things') =>
    `${route} HTTP/1.1\r\nHost: a\r\n${more}${length}\r\n\r\n`
  const whole = (bytes: number) => [`Content-Length: ${bytes}`, ' '.repeat(bytes)] as const
  const chunks = (bytes: number) =>
    ['Transfer-Encoding: chunked', `${bytes.toString(16)}\r\n${' '.repeat(bytes)}\r\n0\r\n\r\n`] as const
  const freezeTime = () => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  afterEach(() => {
    vi.useRealTimers()
  })

  it.each([
    [413, 'one too large', 'POST /things', JSON_TYPE, whole(16 * MIB)],
    [413, 'too large in chunks', 'POST /things', JSON_TYPE, chunks(8 * MIB)],
    [415, 'of another type', 'POST /things', 'Content-Type: text/csv\r\n', whole(8 * MIB)],
    [503, 'for something away', 'GET /gone', '', whole(8 * MIB)],
  ])(
    'is read to its end, so that a client that sends all of it before it reads gets the answer: %i, %s',
    async (...row) => {
      const [status, , route, type, [length, body]] = row
      const socket = connectToApp()
      await promisify<string, void>(socket.write.bind(socket))(headOf(length, CLOSE + type, route) + body)
      expect(await text(socket)).toMatch(
        new RegExp(`^HTTP/1\\.1 ${status} .*\\r\\n\\r\\n{"status":${status},.*}$`, 's'),
      )
    },
  )

  it('is waited for only for a limited time, and the answer does not say that it took too long', async () => {
    freezeTime()
    const answer = exchange(headOf(whole(8 * MIB)[0]))
    await expect.poll(() => vi.getTimerCount()).toBe(1)
    const slow = await app.inject('/slow')
    expect([slow.statusCode, slow.json()]).toEqual([504, { status: 504, code: 'late', message: 'Late' }])
    vi.advanceTimersByTime(3_000)
    expect(vi.getTimerCount()).toBe(1)
    vi.advanceTimersByTime(2_000)
    expect(await answer).toMatch(/^HTTP\/1\.1 413 /)
  })

  it('is not waited for when the client has left', async () => {
    freezeTime()
    const socket = connectToApp()
    socket.write(headOf(whole(8 * MIB)[0]))
    await expect.poll(() => vi.getTimerCount()).toBe(1)
    socket.destroy()
    await expect.poll(() => vi.getTimerCount(), { timeout: 60_000 }).toBe(0)
  })

  it('is not waited for when the connection stays open', async () => {
    freezeTime()
    const socket = connectToApp()
    socket.write(headOf(whole(8 * MIB)[0], 'Content-Type: text/csv\r\n'))
    expect(String(await once(socket, 'data'))).toMatch(/^HTTP\/1\.1 415 /)
    socket.destroy()
  })

  it('is not waited for when it declares that it is too large', async () => {
    freezeTime()
    expect(await exchange(headOf(whole(17 * MIB)[0]))).toMatch(/^HTTP\/1\.1 413 /)
  })

  it('is not waited for once too much of it has arrived', async () => {
    freezeTime()
    const [length, body] = chunks(17 * MIB)
    const closed = exchange(headOf(length) + body.slice(0, -7)).catch(({ code }) => code)
    expect(await closed).toMatch(/^(HTTP\/1\.1 413 |ECONNRESET$|EPIPE$)/)
  })
})

describe('a long text', () => {
  it('is sent as bytes, so that the limits of connections count all of them while they wait', async () => {
    const sent: unknown[] = []
    const server = openSmallServer()
    server.addHook('onSend', async (_request, _reply, payload) => {
      sent.push(payload)
      return payload
    })
    server.get('/', async () => ({ text: 'ß'.repeat(10_000) }))
    const answer = await server.inject('/')
    expect(answer.json()).toEqual({ text: 'ß'.repeat(10_000) })
    expect(sent).toEqual([Buffer.from(answer.body)])
    await server.close()
  })
})

describe('headers for browsers', () => {
  const POLICY = "default-src 'none'; frame-ancestors 'none'"
  const BY_TLS = { 'x-forwarded-proto': 'https' }
  // Use a separate log, because a later test counts the lines of the shared log.
  const { logger } = createLogger({ level: 'fatal', stdout: false })
  const open = (trustedProxies?: number) => {
    const server = openSmallServer({ logger, trustedProxies })
    server.register(async (inner) => {
      inner.get('/', async () => ({}))
      inner.get('/page', async (_request, reply) => reply.header('content-security-policy', 'own').send('page'))
    })
    return server
  }
  const URLS = ['/', '/nothing', '/%zz', `/${'x'.repeat(8_192)}`]

  // ASVS 3.4.6
  it.each(URLS.map((url) => [url.slice(0, 9), url]))('no page may frame the answer of %s', async (_name, url) => {
    expect((await open().inject(url)).headers['content-security-policy']).toBe(POLICY)
  })

  it('no page may frame the answer to a broken HTTP request', async () => {
    expect(await exchange('nonsense\r\n\r\n')).toContain(`content-security-policy: ${POLICY}\r\n`)
  })

  it('a page has its own policy', async () => {
    expect((await open().inject('/page')).headers['content-security-policy']).toBe('own')
  })

  // ASVS 3.4.1
  it.each(URLS.map((url) => [url.slice(0, 9), url]))(
    'an answer over TLS tells browsers to use TLS for a year: %s',
    async (_name, url) => {
      const answer = await open(1).inject({ url, headers: BY_TLS })
      expect(answer.headers['strict-transport-security']).toBe('max-age=31536000')
    },
  )

  it('an answer over plain HTTP does not require TLS, even if an untrusted client claims that it came by TLS', async () => {
    const plain = await open(1).inject('/')
    const claimed = await open().inject({ url: '/', headers: BY_TLS })
    for (const { headers } of [plain, claimed]) expect(headers).not.toHaveProperty('strict-transport-security')
  })
})

// ASVS 4.1.3, 15.3.4
describe('the address of a client', () => {
  const FORWARDED = [
    ['X-Forwarded-For', '192.0.2.1, 198.51.100.7'],
    ['X-Forwarded-For', '203.0.113.9'],
    ['X-Forwarded-Proto', 'https'],
    ['X-Forwarded-Host', 'shop.example'],
  ].flat()

  it.each([
    [undefined, '127.0.0.1', 'http://own'],
    [0, '127.0.0.1', 'http://own'],
    [1, '203.0.113.9', 'https://shop.example'],
    [2, '198.51.100.7', 'https://shop.example'],
    [['127.0.0.0/8'], '203.0.113.9', 'https://shop.example'],
    [['127.0.0.1/32', '203.0.113.0/24'], '198.51.100.7', 'https://shop.example'],
    // Only a trusted proxy may set the protocol of the client.
    [['10.0.0.0/8'], '127.0.0.1', 'http://own'],
  ])('trusting %j, is %s, who came to %s', async (trustedProxies, address, origin) => {
    const server = openSmallServer({ trustedProxies })
    server.register(async (inner) => {
      inner.get('/', async ({ ip, protocol, host }) => ({ ip, origin: `${protocol}://${host}` }))
    })
    const asked = request(await server.listen({ host: '127.0.0.1', port: 0 }), {
      headers: ['Host', 'own', ...FORWARDED],
    })
    const [answer] = await once(asked.end(), 'response')
    expect(JSON.parse(await text(answer))).toEqual({ ip: address, origin })
    await server.close()
  })
})

describe('telemetry', () => {
  // ASVS 16.2.1, 16.2.4, 16.3.2, 16.3.4
  it('logs one line for each request, with its id, its route pattern and no secret', async () => {
    await app.inject({ url: '/things/42?token=t', headers: { 'x-request-id': 'mine' } })
    await app.inject({ url: '/broken', headers: { 'x-request-id': 'theirs' } })
    await app.inject({ url: '/things/%zz', headers: { 'x-request-id': 'malformed' } })
    await log.flush()
    const lines = readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines.filter(({ request_id: id }) => id === 'mine')).toEqual([
      {
        level: 'info',
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        request_id: 'mine',
        method: 'GET',
        path: '/things/42',
        route: '/things/{thing_id}',
        status: 200,
        duration_ms: expect.any(Number),
        own: 'field',
        password: '[redacted]',
        msg: 'request',
      },
    ])
    expect(lines.filter(({ request_id: id }) => id === 'malformed')).toEqual([
      {
        level: 'warn',
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        request_id: 'malformed',
        method: 'GET',
        route: 'noroute',
        status: 400,
        error_code: 'malformed',
        msg: 'request',
      },
    ])
    const broken = lines.filter(({ request_id: id }) => id === 'theirs')
    expect(broken.map(({ level, msg }) => [level, msg])).toEqual([
      ['error', 'Defect'],
      ['error', 'request'],
    ])
    expect(broken[0].err.message).toBe('SELECT secret FROM table')
  })

  it('logs one line for a request that is refused on purpose, and the cause of an outage in a second one', async () => {
    await app.inject({ url: '/busy', headers: { 'x-request-id': 'refused' } })
    await app.inject({ url: '/gone', headers: { 'x-request-id': 'outage' } })
    await log.flush()
    const lines = readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    const of = (wanted: string) =>
      lines
        .filter(({ request_id: id }) => id === wanted)
        .map(({ level, msg, status, error_code: code, err }) => ({ level, msg, status, code, cause: err?.message }))
    const request = { msg: 'request', status: 503, cause: undefined }
    expect(of('refused')).toEqual([{ ...request, level: expect.any(String), code: 'busy' }])
    expect(of('outage')).toEqual([
      { level: 'warn', msg: 'Away', status: undefined, code: 'away', cause: 'gone' },
      { ...request, level: expect.any(String), code: 'away' },
    ])
  })

  it.each(['4242424242424242', '4242-4242-4242-4242'])(
    'takes the card number %s for no id of a request',
    async (id) => {
      const answer = await app.inject({ url: '/things/42', headers: { 'x-request-id': id } })
      expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f]{8}-[0-9a-f-]{27}$/)
    },
  )

  // ASVS 16.4.1
  it('logs one line for each request, whatever the client sends', async () => {
    const lines = () => readFileSync(file, 'utf8').trim().split('\n')
    await log.flush()
    const before = lines().length
    await app.inject({
      url: '/nothing"}%0d%0a{"msg":"forged"}\u2028',
      headers: { 'x-request-id': 'a\n{"msg":"forged"}' },
    })
    await log.flush()
    expect(
      lines()
        .slice(before)
        .map((line) => JSON.parse(line).msg),
    ).toEqual(['request'])
  })

  it('prints metrics by route pattern, and those of the process', async () => {
    const port = await metrics.listen()
    for (const url of ['/things/the-one', '/nowhere']) await app.inject({ url })
    for (const path of ['/', '/metrics']) {
      const text = await (await fetch(`http://127.0.0.1:${port}${path}`)).text()
      expect(text).toContain(
        'http_server_request_duration_seconds_count{http_request_method="GET",http_route="/things/{thing_id}",http_response_status_code="200"}',
      )
      expect(text).toContain('http_route="noroute"')
      expect(text).toMatch(/^nodejs_eventloop_lag_seconds /m)
      expect(text).not.toContain('the-one')
    }
    const other = await fetch(`http://127.0.0.1:${port}/other`)
    expect([other.status, await other.text()]).toEqual([404, ''])
  })

  it('records nothing when metrics are off', async () => {
    const off = await createMetrics({ enabled: false, exporter: 'prometheus', host: '', port: 0, resource: {} })
    expect(off.meter).toBeInstanceOf(createNoopMeter().constructor)
    expect(await off.listen()).toBeUndefined()
  })

  it('refuses a log file that cannot be written', () => {
    expect(() => createLogger({ level: 'info', file: '/proc/nowhere/app.log' })).toThrow(
      /^log file \/proc\/nowhere\/app.log cannot be written/,
    )
  })
})

describe('GET /ready', () => {
  it('200: is ready only between its start and its drain', async () => {
    const ask = async () => {
      const answer = await app.inject({ url: '/ready' })
      return [answer.statusCode, answer.json(), answer.headers['retry-after']]
    }
    expect(await ask()).toEqual([503, { status: 503, code: 'away', message: 'The process is starting' }, '1'])
    readiness.markReady()
    expect(await ask()).toEqual([200, { status: 'ready' }, undefined])
    readiness.drain()
    expect(await ask()).toEqual([503, { status: 503, code: 'away', message: 'The process is draining' }, '1'])
  })
})
