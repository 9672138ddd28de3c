import { portOf } from '@trestle/testing/free-port.ts'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Differences, invalidBody, jsonHeaders, refusedBody, withoutConnection } from '../test/bodies.ts'
import { startInventory, type TestInventory } from '../test/inventory-app.ts'
import { rawRequest, sendRaw } from '../test/raw-request.ts'

let inventory: TestInventory
let port: number
beforeAll(async () => {
  inventory = await startInventory({ INVENTORY_MAX_BODY_BYTES: '2000' })
  await inventory.app.listen({ host: '127.0.0.1', port: 0 })
  port = portOf(inventory.app.server)
})
afterAll(() => inventory.close())

const TYPES: Readonly<Record<number, string>> = {
  400: 'BAD_REQUEST',
  404: 'RESOURCE_NOT_FOUND',
  405: 'NOT_ALLOWED',
  408: 'BAD_REQUEST',
  413: 'PAYLOAD_TOO_LARGE',
  414: 'URI_TOO_LONG',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  431: 'BAD_REQUEST',
  501: 'NOT_IMPLEMENTED',
}

async function expectError(request: string | Buffer, status: number, headers: Differences = {}): Promise<void> {
  const answer = await sendRaw(port, request)
  expect(answer.status).toBe(status)
  const body = JSON.parse(answer.body)
  expect(body).toEqual({ statusCode: status, error: { type: TYPES[status], description: expect.any(String) } })
  expect(withoutConnection(answer.headers)).toEqual(jsonHeaders(headers))
}

describe('a request target', () => {
  it.each<[number, string]>([
    [400, 'GET /%zz'],
    [400, 'GET /%4'],
    [400, 'GET /%c0%af'],
    [400, 'GET /%00'],
    [400, 'GET /products/%0a'],
    [400, 'GET /..'],
    [400, 'GET /products/../users'],
    [400, 'GET /%2e%2E/users'],
    [400, 'GET /products%2F1'],
    [400, 'GET /products%5c1'],
    [400, 'GET /products\\1'],
    [400, 'GET /products#x'],
    [400, 'GET /products?a=%zz'],
    [400, 'GET /products?__proto__=1'],
    [400, 'GET *'],
    [400, 'GET localhost:80'],
    [400, 'FOO /products'],
    [400, 'get /products'],
    [400, 'GET products'],
    [414, `GET /${'a'.repeat(8_200)}`],
    [414, `GET /products?x=${'a'.repeat(9_000)}`],
    [414, `GET /products/${'1'.repeat(9_000)}`],
    [414, `GET /${'a/'.repeat(129)}`],
    [431, `GET /${'a'.repeat(20_000)}`],
    [404, 'GET /nope'],
    [404, 'GET /products/1/2'],
    [404, 'GET /__proto__'],
    [404, 'GET /constructor'],
    [404, 'GET /toString/then'],
    [404, 'GET /%252e%252e'],
    [404, 'GET /Products'],
    [404, 'DELETE /nope'],
    [404, 'OPTIONS /nope'],
    [501, 'PROPFIND /products'],
    [501, 'PROPFIND /nope'],
    [404, 'TRACE /nope'],
    [400, 'TRACE /%zz'],
    [404, 'QUERY /nope'],
    [400, 'QUERY /%zz'],
  ])('%i: answers %s', async (status, line) => {
    await expectError(rawRequest(line), status)
  })

  // ASVS 13.4.4
  it.each([
    ['PUT /products', 'GET, HEAD, POST, OPTIONS'],
    ['DELETE /users/1', 'GET, HEAD, OPTIONS'],
    ['POST /users', 'GET, HEAD, OPTIONS'],
    ['POST /products/abc', 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS'],
    ['POST /', 'GET, HEAD, OPTIONS'],
    ['DELETE //products/', 'GET, HEAD, POST, OPTIONS'],
    ['TRACE /', 'GET, HEAD, OPTIONS'],
    ['TRACE /products/1', 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS'],
    ['QUERY /products?limit=1', 'GET, HEAD, POST, OPTIONS'],
  ])('405: refuses %s with Allow: %s', async (line, allow) => {
    await expectError(rawRequest(line, ['Content-Length: 2'], '{}'), 405, { allow })
  })

  it.each([
    ['OPTIONS /products', 'GET, HEAD, POST, OPTIONS'],
    ['OPTIONS /products/abc', 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS'],
    ['OPTIONS *', 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'],
  ])('204: answers %s with Allow: %s', async (line, allow) => {
    const answer = await sendRaw(port, rawRequest(line))
    expect([answer.status, answer.body, answer.headers.allow]).toEqual([204, '', allow])
  })

  // ASVS 1.1.1
  it.each(['/users/1/', '//users///1', '/%75sers/1', 'http://elsewhere/users/1', '/users/1?'])(
    '%s is read as /users/1',
    async (target) => {
      const answer = await sendRaw(port, rawRequest(`GET ${target}`))
      expect(JSON.parse(answer.body).data.id).toBe(1)
    },
  )

  it('200: HEAD gets the headers of GET, and no body', async () => {
    const get = await sendRaw(port, rawRequest('GET /users/1'))
    const head = await sendRaw(port, rawRequest('HEAD /users/1'))
    expect([head.status, head.body]).toEqual([200, ''])
    expect(head.headers['content-length']).toBe(String(Buffer.byteLength(get.body)))
    const missing = await sendRaw(port, rawRequest('HEAD /users/99'))
    expect([missing.status, missing.body]).toEqual([404, ''])
  })

  it.each([
    ['GET /?x=1', 'x'],
    ['GET /users/1?limit=1', 'limit'],
    ['GET /products/1?sort=sku', 'sort'],
    ['POST /products?dryRun=true', 'dryRun'],
  ] as const)('400: refuses %s, because the endpoint has no such parameter', async (line, path) => {
    const form = ['Content-Type: application/x-www-form-urlencoded', 'Content-Length: 18']
    const answer = await sendRaw(
      port,
      line.startsWith('POST') ? rawRequest(line, form, 'sku=A&attributes=1') : rawRequest(line),
    )
    expect(answer.status).toBe(400)
    expect(JSON.parse(answer.body)).toEqual(invalidBody(path, 'is not known here'))
  })

  it('is never answered with a 5xx, whatever the target is', async () => {
    const part = fc.oneof(
      fc.constantFrom('products', 'users', '1', '..', '%2e', '%', '%zz', '', '__proto__', '?', '&', '=', 'limit=1'),
      fc.string({ maxLength: 8 }).map((text) => text.replaceAll(/[\s]/g, '')),
    )
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('GET', 'POST', 'PUT', 'OPTIONS'), fc.array(part), async (method, parts) => {
        const { status } = await sendRaw(port, rawRequest(`${method} /${parts.join('/')}`))
        expect(status).toBeLessThan(500)
      }),
      { numRuns: 300 },
    )
  })
})

describe('a request that is not HTTP', () => {
  // ASVS 4.2.1
  it.each([
    [400, 'a broken request line', 'nonsense\r\n\r\n'],
    [400, 'a broken header', 'GET / HTTP/1.1\r\nHost localhost\r\n\r\n'],
    [400, 'no host', 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n'],
    [400, 'two lengths', 'POST /products HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n'],
    [431, 'a header of 20 KiB', `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`],
  ])('%i: refuses %s', async (status, _name, request) => {
    await expectError(request, status)
  })
})

describe('a body', () => {
  const post = (type: string | undefined, body: string, ...headers: string[]) =>
    rawRequest(
      'POST /products',
      [...(type ? [`Content-Type: ${type}`] : []), `Content-Length: ${Buffer.byteLength(body)}`, ...headers],
      body,
    )

  it.each<[number, string, string]>([
    [415, 'no type', post(undefined, '{}')],
    [415, 'XML', post('application/xml', '<a/>')],
    [415, 'plain text', post('text/plain', 'x')],
    [415, 'no media type at all', post('nonsense', '{}')],
    [415, 'another charset', post('application/json; charset=latin1', '{}')],
    [415, 'compressed', post('application/json', '{}', 'Content-Encoding: gzip')],
    [413, 'too large', post('application/json', `{"sku":"${'x'.repeat(2_000)}"}`)],
    [400, 'a broken form', post('application/x-www-form-urlencoded', 'sku=%zz')],
    [400, 'a form with __proto__', post('application/x-www-form-urlencoded', '__proto__=1')],
    [400, 'broken JSON', post('application/json', '{"sku":')],
  ])('%i: is refused as %s', async (status, _name, request) => {
    await expectError(request, status)
  })

  it('400: refuses bytes that are not UTF-8', async () => {
    const body = Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d])
    const head = `POST /products HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
    await expectError(Buffer.concat([Buffer.from(head), body]), 400)
  })

  const MISSING = refusedBody(400, 'VALIDATION_ERROR', 'sku: is required', {
    issues: ['sku', 'attributes'].map((path) => ({ path, message: 'is required' })),
  })
  it.each([
    ['none', rawRequest('POST /products'), MISSING],
    ['an empty one', post('application/json', ''), MISSING],
    ['a form without fields', post('application/x-www-form-urlencoded', ''), MISSING],
    [
      'a field sent twice',
      post('application/x-www-form-urlencoded', 'sku=A&sku=B&attributes=1'),
      invalidBody('sku', 'must be a string'),
    ],
  ])('400: refuses %s', async (_name, request, refusal) => {
    const answer = await sendRaw(port, request)
    expect([answer.status, JSON.parse(answer.body)]).toEqual([400, refusal])
  })

  it.each(['application/json; charset=UTF-8', 'APPLICATION/JSON', 'application/vnd.api+json'])(
    '201: reads %s, also in chunks',
    async (type) => {
      const body = JSON.stringify({ sku: `of ${type}`, attributes: '{}' })
      const chunked = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
      const request = rawRequest('POST /products', [`Content-Type: ${type}`, 'Transfer-Encoding: chunked'], chunked)
      const answer = await sendRaw(port, request)
      const id = expect.any(Number)
      const data = { id, message: expect.stringMatching(/^Product \d+ was created\.$/) }
      expect([answer.status, JSON.parse(answer.body)]).toEqual([201, { statusCode: 201, data }])
    },
  )
})

describe('X-Request-Id', () => {
  it.each(['abc.DEF_1-2', 'x'.repeat(64)])('keeps %s', async (id) => {
    expect((await inventory.app.inject({ url: '/', headers: { 'x-request-id': id } })).headers['x-request-id']).toBe(id)
  })

  it.each(['with space', 'x'.repeat(65), 'a/b', 'ä'])('replaces %s', async (id) => {
    const { headers } = await inventory.app.inject({ url: '/', headers: { 'x-request-id': id } })
    expect(headers['x-request-id']).toMatch(/^[0-9a-f]{8}-[0-9a-f-]{27}$/)
  })
})

describe('the API document and its page', () => {
  it.each(['/openapi.json', '/docs/'])('304: does not send %s again to a client that has it', async (url) => {
    const { statusCode, headers } = await inventory.app.inject({ url })
    expect([statusCode, headers['cache-control']]).toEqual([200, 'no-cache'])
    const again = await inventory.app.inject({ url, headers: { 'if-none-match': String(headers.etag) } })
    expect([again.statusCode, again.body]).toEqual([304, ''])
  })

  it('200: asks for no token in /openapi.json while the service checks none', async () => {
    const { statusCode, body } = await inventory.app.inject({ url: '/openapi.json' })
    expect([statusCode, JSON.parse(body).paths['/products'].get.security]).toEqual([200, []])
  })

  // ASVS 13.4.5
  it('404: hides the API document and its page where they are switched off', async () => {
    const silent = await startInventory({ INVENTORY_DOCS_ENABLED: 'false' })
    for (const url of ['/openapi.json', '/docs', '/docs/', '/docs/js/scalar.js']) {
      const answer = await silent.app.inject({ url })
      expect([url, answer.statusCode, answer.json()]).toEqual([
        url,
        404,
        refusedBody(404, 'RESOURCE_NOT_FOUND', 'The resource you requested does not exist.'),
      ])
    }
    await silent.close()
  })
})
