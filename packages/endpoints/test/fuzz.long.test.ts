import { createServer, IncomingMessage, type Server } from 'node:http'
import { connect } from 'node:net'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { Application, type Args, accepts, Controller, p } from '../src/endpoints.ts'
import { portOf } from './start.ts'

// The nightly run: FUZZ_REQUESTS=100000 npx vitest run packages/endpoints/test/fuzz.long.test.ts
const lineCount = Number(process.env.FUZZ_REQUESTS ?? 5_000)
const bodyCount = lineCount / 5
const seed = Number(process.env.FUZZ_SEED ?? 7)

/** Every call of a handler: the method name, and the request line as Node.js parsed it. */
const calls: { readonly handler: string; readonly method: string; readonly target: string }[] = []

abstract class Noting extends Controller {
  rememberCall(handler: string): object {
    const { request } = this.request.raw
    if (!(request instanceof IncomingMessage)) throw new TypeError('the request is not of node:http')
    const { method, url: target = '' } = request
    calls.push({
      handler: `${this.request.route?.module}:${this.constructor.name}.${handler}`,
      method: `${method}`,
      target,
    })
    return {}
  }
}

class Default extends Noting {
  GET(..._parts: string[]) {
    return this.rememberCall('GET')
  }
  ANY({ ...keywords }) {
    return { ...this.rememberCall('ANY'), keywords }
  }
  POST_open({ ...keywords }) {
    return { ...this.rememberCall('POST_open'), keywords }
  }
}

class Foo extends Noting {
  static POST = accepts({
    path: [p.int().optional()],
    keywords: z.object({
      a: p.list(p.int()).optional(),
      b: p.bool().optional(),
      c: z.record(z.string(), z.unknown()).optional(),
    }),
  })
  POST(...[id, keywords]: Args<typeof Foo.POST>) {
    return { ...this.rememberCall('POST'), id, keywords }
  }

  static POST_items = accepts({ rest: z.unknown(), body: 'positionals' })
  POST_items(...[items]: Args<typeof Foo.POST_items>) {
    return { ...this.rememberCall('POST_items'), items }
  }

  static POST_raw = accepts({ body: 'raw' })
  async POST_raw() {
    return { ...this.rememberCall('POST_raw'), length: (await this.request.bytes()).byteLength }
  }

  GET(_a = '', { k = '' } = {}) {
    return { ...this.rememberCall('GET'), k }
  }
}

const faults: unknown[] = []
let app: Application
let server: Server
let port: number

beforeAll(async () => {
  const log = { warn: () => {}, error: (error: unknown) => void faults.push(error) }
  app = await new Application({ modules: { index: { Default }, 'foo/bar': { Foo, Default } }, log }).ready()
  server = createServer(app.listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  port = portOf(server)
})
afterAll(() => new Promise((resolve) => server.close(resolve)))

/** Sends these bytes and ends the connection. Returns everything that the server sends until it closes. */
function send(bytes: Uint8Array): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    let text = ''
    socket.setEncoding('latin1').on('data', (data) => {
      text += data
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(text))
    socket.end(bytes)
  })
}

/** Replaces the unit `binary` of `fc.string`, which keeps a map of all 1.1 million characters in memory. */
const anyText = (maxLength: number) =>
  fc.array(fc.nat(0x10_ffff), { maxLength }).map((points) => String.fromCodePoint(...points).toWellFormed())

const verbs = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'PROPFIND',
  'TRACE',
  'QUERY',
  'get',
  'FOO',
  'CONNECT',
  '',
]
const evil = [
  '/',
  '//',
  '.',
  '..',
  '\\',
  '%2e',
  '%2E%2e',
  '%2f',
  '%5c',
  '%00',
  '%0d%0a',
  '%7f',
  '%',
  '%4',
  '%zz',
  '%ff',
  '%c0%af',
  '%ed%a0%80',
  '%252e',
  '*',
  '#',
  '?',
  '&',
  '=',
  '+',
  ';',
  ':',
  '@',
  '[',
  '{',
  '|',
  ' ',
  '\t',
  '\u0000',
  '\u00e9',
  '\u00ff',
  'foo',
  'bar',
  'Foo',
  'open',
  'items',
  'GET',
  'index',
  'Default',
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'then',
  'http://',
  'https://h',
  'HTTP/1.1',
  'k=1',
  'a=1,2',
  '__proto__=1',
  'x'.repeat(9_000),
  '/a'.repeat(130),
  '&a'.repeat(1_100),
]
const target = fc.oneof(
  { weight: 4, arbitrary: fc.array(fc.constantFrom(...evil), { maxLength: 8 }).map((parts) => `/${parts.join('')}`) },
  {
    weight: 2,
    arbitrary: fc
      .array(fc.constantFrom('/foo', '/bar', '/open', '/7', '/x', '?k=1', '/'), { maxLength: 6 })
      .map((parts) => parts.join('')),
  },
  { weight: 1, arbitrary: fc.array(fc.constantFrom(...evil), { maxLength: 5 }).map((parts) => parts.join('')) },
  { weight: 1, arbitrary: anyText(60) },
)

interface Line {
  readonly verb: string
  readonly path: string
  readonly version: string
}

const line = fc.record<Line>({
  verb: fc.constantFrom(...verbs),
  path: target,
  version: fc.constantFrom('HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', 'http/1.1', ''),
})

const seven = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** Returns the handler that answers a request line according to the table. */
function expectedHandler(method: string, path: string): string | undefined {
  const { route } = app.resolve(method, path)
  return route && `${route.module}:${route.className}.${route.handler}`
}

it('random request lines cause no 5xx, and call only the handler in the table', async () => {
  const lines = fc.sample(line, { numRuns: lineCount, seed })
  const ask = async (given: Line): Promise<void> => {
    const head = `${given.verb} ${given.path} ${given.version}\r\nHost: h\r\nConnection: close\r\n\r\n`
    const answer = await send(Buffer.from(head, 'latin1'))
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1] ?? 0)
    // Node.js itself answers an unknown verb with 501 and a body that is not from the framework.
    const mayFail = seven.has(given.verb) ? [] : [501]
    if (status >= 500) expect(mayFail, JSON.stringify(given)).toContain(status)
  }
  for (let at = 0; at < lines.length; at += 50) await Promise.all(lines.slice(at, at + 50).map(ask))
  expect(faults).toEqual([])
  for (const { handler, method, target: read } of calls)
    expect(handler, `${method} ${read}`).toBe(expectedHandler(method, read))
  expect(calls.length).toBeGreaterThan(lineCount / 33)
})

const types = [
  'application/json',
  'application/json; charset=utf-8',
  'application/json; charset=latin1',
  'application/x+json',
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=X',
  'multipart/form-data',
  'json',
  '',
  '\u00ff',
]
const names = ['a', 'b', 'c', 'id', '__proto__', 'constructor', 'prototype', 'toString', 'a[]', '\u0000', 'é']
const jsonText = fc.json({ maxDepth: 4 })
const hostile = fc.oneof(
  jsonText,
  jsonText.map((text) => text.slice(0, -1)),
  fc.constantFrom(
    '[',
    '{"a":',
    '{"__proto__":{"x":1}}',
    '{"a":{"__proto__":{"x":1}}}',
    '[{"__proto__":{"x":1}}]',
    '{"constructor":{"prototype":{}}}',
    '{"a":1e999}',
    '\ufeff{}',
    '{"a":"\\ud800"}',
  ),
  fc.constantFrom(
    '['.repeat(100_000),
    '{"a":'.repeat(50_000),
    `{"a":[${'1,'.repeat(2_000)}1]}`,
    `"${'x'.repeat(2 ** 20)}"`,
  ),
  fc
    .array(fc.tuple(fc.constantFrom(...names), fc.constantFrom('1', '%zz', '%00', '1,2', 'true', '')), { maxLength: 6 })
    .map((pairs) => pairs.map((pair) => pair.join('=')).join('&')),
  fc.constantFrom('&'.repeat(2_000), 'a=1&'.repeat(1_200), '='.repeat(500)),
  fc
    .array(
      fc.constantFrom(
        '--X',
        '--X--',
        '\r\n',
        'Content-Disposition: form-data; name="a"',
        'Content-Disposition: form-data; name="__proto__"',
        'filename="f"',
        ': ',
        'x',
      ),
      { maxLength: 12 },
    )
    .map((parts) => parts.join('')),
  anyText(200),
)
const body = fc.record({
  path: fc.constantFrom(
    '/',
    '/open',
    '/foo/bar/foo',
    '/foo/bar/foo/7',
    '/foo/bar/foo/items',
    '/foo/bar/foo/items/x',
    '/foo/bar/foo/raw',
    '/foo/bar/foo/7/8',
  ),
  verb: fc.constantFrom('POST', 'PUT', 'DELETE', 'GET'),
  type: fc.constantFrom(...types),
  framing: fc.constantFrom('length', 'chunked', 'short'),
  text: hostile,
})

// ASVS 1.5.2, 15.3.6
it('random bodies cause no 5xx, and change no prototype', async () => {
  const statuses = new Map<number, number>()
  const ask = async ({ path, verb, type, framing, text }: (typeof bodies)[number]): Promise<void> => {
    const bytes = Buffer.from(text)
    const frames: Record<string, readonly [string, Buffer]> = {
      length: [`Content-Length: ${bytes.length}`, bytes],
      short: [`Content-Length: ${bytes.length + 5}`, bytes],
      chunked: [
        'Transfer-Encoding: chunked',
        Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n0\r\n\r\n')]),
      ],
    }
    const [header, payload] = frames[bytes.length === 0 ? 'length' : framing] ?? ['', bytes]
    const head = `${verb} ${path} HTTP/1.1\r\nHost: h\r\nContent-Type: ${type}\r\n${header}\r\nConnection: close\r\n\r\n`
    const answer = await send(Buffer.concat([Buffer.from(head, 'latin1'), payload]))
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1] ?? 0)
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    const given = JSON.stringify({ path, verb, type, framing, text: text.slice(0, 200) })
    expect(status, given).toBeLessThan(500)
    // Handlers answer with their input. If code copied such a member, it would change an object's prototype.
    expect(answer, given).not.toContain('"__proto__":')
  }
  const bodies = fc.sample(body, { numRuns: bodyCount, seed })
  for (let at = 0; at < bodies.length; at += 50) await Promise.all(bodies.slice(at, at + 50).map(ask))
  expect(faults).toEqual([])
  expect(Object.keys(Object.prototype)).toEqual([])
  expect({}).not.toHaveProperty('x')
  // Check that every kind of outcome occurred. Otherwise the generator is wrong.
  expect([200, 400, 404, 405, 413, 415].filter((status) => !statuses.has(status))).toEqual([])
})
