import { once } from 'node:events'
import { createReadStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type Args, accepts, CallStop, Controller, NotFound, RawJson, Redirect } from '../src/endpoints.ts'
import { type EveryInterface, everyInterface } from './every-interface.ts'
import { errorAnswer, jsonAnswer } from './whole-answers.ts'

const folder = mkdtempSync(join(tmpdir(), 'endpoints-'))
writeFileSync(join(folder, 'page.html'), '<p>é</p>')

async function* items(): AsyncGenerator<unknown> {
  yield 1
  yield { a: 'é' }
}

/** The values that the handlers return, by the path of the request. */
const values: Readonly<Record<string, () => unknown>> = {
  undefined: () => undefined,
  null: () => null,
  text: () => 'say "é"',
  number: () => 1.5,
  'not-a-number': () => Number.NaN,
  boolean: () => false,
  bigint: () => 2n ** 70n,
  'bigint-inside': () => ({ big: [-(2n ** 70n)], text: '1n' }),
  object: () => ({ a: [1, null] }),
  array: () => [1, 'a'],
  'raw-json': () => new RawJson('{"n": 1.10}'),
  'raw-items': async function* () {
    yield new RawJson('1.10')
    yield 2
  },
  'to-json': () => ({ toJSON: () => 'made' }),
  date: () => new Date(0),
  map: () =>
    new Map<string, unknown>([
      ['a', 1],
      ['b', new Set([2])],
    ]),
  'map-inside': () => ({
    m: new Map([['x', 2]]),
    list: [new Set([new Map([['y', [new Set([1n])]]])])],
    o: { s: new Set() },
  }),
  'bytes-inside': () => ({ b: new Uint8Array([1, 2]), g: [1].values(), t: Object.assign('text', {}) }),
  'made-inside': () => ({ made: { toJSON: () => 'made' }, date: new Date(0), m: new Map([['d', new Date(0)]]) }),
  set: () => new Set([1, 'a']),
  generator: () =>
    (function* () {
      yield 1
      yield 2
    })(),
  promises: async () => Promise.resolve(Promise.resolve('unwound')),
  // biome-ignore lint/suspicious/noThenProperty: objects with a then are awaited too
  'promise-like': () => ({ then: (resolve: (value: unknown) => void) => resolve('unwound') }),
  bytes: () => new Uint8Array([104, 105]),
  buffer: () => Buffer.from('hi'),
  'array-buffer': () => new Uint8Array([104, 105]).buffer,
  blob: () => new Blob(['hi'], { type: 'text/x-hi' }),
  file: () => new File(['a,b'], 'table.csv'),
  'blob-without-type': () => new Blob(['hi']),
  'web-stream': () => new Blob(['hi']).stream(),
  'node-stream': () => Readable.from([Buffer.from('h'), Buffer.from('i')]),
  'file-stream': () => createReadStream(join(folder, 'page.html')),
  'file-range': () => createReadStream(join(folder, 'page.html'), { start: 1, end: 2 }),
  items,
  'no-items': () => (async function* () {})(),
  response: () => new Response('made', { status: 201, headers: { 'content-type': 'text/x-made', 'x-a': 'response' } }),
  'response-without-body': () => new Response(null, { status: 202 }),
}

class Values extends Controller {
  GET(name: string) {
    return values[name]?.()
  }
}

let all: EveryInterface
beforeAll(async () => {
  all = await everyInterface({
    modules: { values: { Default: Values }, index: { Settled, Thrown, Page_html, Data_json } },
  })
})
afterAll(async () => {
  await all.close()
  rmSync(folder, { recursive: true })
})

const json = 'application/json; charset=utf-8'
const bytes = 'application/octet-stream'

describe('returned values', () => {
  it.each([
    ['null', json, 'null'],
    ['text', json, '"say \\"é\\""'],
    ['number', json, '1.5'],
    ['not-a-number', json, 'null'],
    ['boolean', json, 'false'],
    ['bigint', json, '1180591620717411303424'],
    ['bigint-inside', json, '{"big":[-1180591620717411303424],"text":"1n"}'],
    ['object', json, '{"a":[1,null]}'],
    ['array', json, '[1,"a"]'],
    ['raw-json', json, '{"n": 1.10}'],
    ['to-json', json, '"made"'],
    ['date', json, '"1970-01-01T00:00:00.000Z"'],
    ['map', json, '{"a":1,"b":[2]}'],
    ['map-inside', json, '{"m":{"x":2},"list":[[{"y":[[1]]}]],"o":{"s":[]}}'],
    ['bytes-inside', json, '{"b":[1,2],"g":[1],"t":"text"}'],
    ['made-inside', json, '{"made":"made","date":"1970-01-01T00:00:00.000Z","m":{"d":"1970-01-01T00:00:00.000Z"}}'],
    ['set', json, '[1,"a"]'],
    ['generator', json, '[1,2]'],
    ['promises', json, '"unwound"'],
    ['promise-like', json, '"unwound"'],
    ['bytes', bytes, 'hi'],
    ['buffer', bytes, 'hi'],
    ['array-buffer', bytes, 'hi'],
    ['blob', 'text/x-hi', 'hi'],
    ['file', 'text/csv', 'a,b'],
    ['blob-without-type', bytes, 'hi'],
    ['file-stream', 'text/html; charset=utf-8', '<p>é</p>'],
    ['file-range', 'text/html; charset=utf-8', 'p>'],
  ])('200: sends %s as %s, with its length', async (name, type, body) => {
    const headers = { 'content-type': type, 'content-length': String(Buffer.byteLength(body)), 'x-request-id': 'test' }
    expect(await all.ask({ path: `/values/${name}` })).toEqual({ status: 200, headers, body })
    expect(await all.ask({ method: 'HEAD', path: `/values/${name}` })).toEqual({ status: 200, headers, body: '' })
  })

  it.each([
    ['web-stream', bytes, 'hi'],
    ['node-stream', bytes, 'hi'],
    ['items', json, '[1,{"a":"é"}]'],
    ['raw-items', json, '[1.10,2]'],
    ['no-items', json, '[]'],
  ])('200: sends %s as %s, without a length', async (name, type, body) => {
    const headers = { 'content-type': type, 'x-request-id': 'test' }
    expect(await all.ask({ path: `/values/${name}` })).toEqual({ status: 200, headers, body })
    expect(await all.ask({ method: 'HEAD', path: `/values/${name}` })).toEqual({ status: 200, headers, body: '' })
  })

  it('204: undefined has no body', async () => {
    const nothing = { status: 204, headers: { 'x-request-id': 'test' }, body: '' }
    expect(await all.ask({ path: '/values/undefined' })).toEqual(nothing)
  })

  it('202: passes a web Response through', async () => {
    expect(await all.ask({ path: '/values/response' })).toEqual({
      status: 201,
      headers: { 'content-type': 'text/x-made', 'x-a': 'response', 'x-request-id': 'test' },
      body: 'made',
    })
    expect(await all.ask({ path: '/values/response-without-body' })).toEqual({
      status: 202,
      body: '',
      headers: { 'content-length': '0', 'x-request-id': 'test' },
    })
  })
})

class Settled extends Controller {
  GET_status() {
    this.response.status = 201
    return { a: 1 }
  }

  GET_bare(status: string) {
    this.response.status = Number(status)
    this.response.type = 'text/plain'
    return 'not sent'
  }

  GET_type() {
    this.response.type = 'text/plain'
    return 'raw é'
  }

  GET_problem() {
    this.response.type = 'application/problem+json'
    return 'a JSON text'
  }

  GET_headers() {
    this.response.headers.append('set-cookie', 'a=1')
    this.response.headers.append('set-cookie', 'b=2')
    this.response.headers.set('x-a', 'controller')
    this.response.headers.set('x-b', 'controller')
    return new Response('made', { headers: { 'content-type': 'text/x-made', 'x-a': 'response', 'set-cookie': 'c=3' } })
  }

  GET_fetched() {
    const connection = { 'keep-alive': 'timeout=5', 'proxy-connection': 'keep-alive', te: 'trailers', upgrade: 'h2c' }
    return new Response('fetched', { headers: { 'content-type': 'text/plain', ...connection } })
  }

  static GET_declared = accepts({ type: 'text/csv', status: 202 })
  GET_declared() {
    return 'a,b'
  }

  static GET_lines = accepts({ type: 'application/x-ndjson' })
  GET_lines() {
    return items()
  }

  static GET_events = accepts({ type: 'text/event-stream' })
  async *GET_events() {
    yield 'one\ntwo'
    yield { a: 1 }
    yield { event: 'e\nvil: 1', id: 7, data: { a: 1 } }
  }

  static GET_written = accepts({ type: 'application/x-ndjson' })
  async *GET_written() {
    yield new TextEncoder().encode('1\n2\n')
    yield 3
  }

  static GET_binary = accepts({ type: 'image/png' })
  async *GET_binary() {
    yield new Uint8Array([1, 2])
    yield 'text'
  }

  static GET_returns = accepts({ path: [z.string()], returns: z.object({ a: z.int() }) })
  GET_returns(...[how]: Args<typeof Settled.GET_returns>) {
    if (how === 'another') return { a: 'not declared so' }
    if (how !== 'nothing') return new RawJson(how)
    this.response.status = 304
    return undefined
  }

  static GET_many = accepts({ returns: z.array(z.int()) })
  async *GET_many() {
    yield 1
  }
}

class Page_html extends Controller {
  GET() {
    return '<p>'
  }
  GET_object() {
    return { a: 1 }
  }
  GET_bytes() {
    return new Uint8Array([60])
  }
}

class Data_json extends Controller {
  GET() {
    return 'text'
  }
}

describe('settings of the response', () => {
  it.each([
    [201, '/settled/status', json, '{"a":1}'],
    [200, '/settled/type', 'text/plain; charset=utf-8', 'raw é'],
    [200, '/settled/problem', 'application/problem+json; charset=utf-8', '"a JSON text"'],
    [202, '/settled/declared', 'text/csv; charset=utf-8', 'a,b'],
    [200, '/settled/many', json, '[1]'],
    [200, '/settled/lines', 'application/x-ndjson; charset=utf-8', '1\n{"a":"é"}\n'],
    [200, '/settled/written', 'application/x-ndjson; charset=utf-8', '1\n2\n3\n'],
    [200, '/settled/binary', 'image/png', '\u0001\u0002text'],
    [200, '/page.html', 'text/html; charset=utf-8', '<p>'],
    [200, '/page.html/object', json, '{"a":1}'],
    [200, '/page.html/bytes', 'text/html', '<'],
    [200, '/data.json', json, '"text"'],
  ])('%i: answers %s with %s', async (status, ...[path, type, body]) => {
    const answer = await all.ask({ path })
    expect([answer.status, answer.headers['content-type'], answer.body]).toEqual([status, type, body])
  })

  it('sends events without line breaks in their fields', async () => {
    const { body } = await all.ask({ path: '/settled/events' })
    expect(body).toBe('data: one\ndata: two\n\ndata: {"a":1}\n\nevent: evil: 1\nid: 7\ndata: {"a":1}\n\n')
  })

  it.each([
    ['204', {}],
    ['205', { 'content-length': '0' }],
    ['304', {}],
  ])('%s never has a body', async (status, headers) => {
    expect(await all.ask({ path: `/settled/bare/${status}` })).toEqual({
      status: Number(status),
      headers: { ...headers, 'x-request-id': 'test' },
      body: '',
    })
  })

  it('headers of a Response win over those of the controller', async () => {
    const { headers } = await all.ask({ path: '/settled/headers' })
    expect(headers).toEqual({
      'x-a': 'response',
      'x-b': 'controller',
      'content-type': 'text/x-made',
      'set-cookie': 'a=1,b=2,c=3',
      'x-request-id': 'test',
    })
    expect(headers['set-cookie']).toBe('a=1,b=2,c=3')
  })

  it('drops a fetched Response’s headers about its own connection', async () => {
    expect((await all.ask({ path: '/settled/fetched' })).headers).toEqual({
      'content-type': 'text/plain',
      'x-request-id': 'test',
    })
  })

  it('500: answers when a returned value does not match its declaration', async () => {
    expect(await all.ask({ path: '/settled/returns/another' })).toEqual(
      errorAnswer(500, 'SERVER_ERROR', 'An unexpected error occurred'),
    )
    expect(await all.ask({ path: '/settled/returns/%7B%22a%22:true%7D' })).toEqual(
      errorAnswer(500, 'SERVER_ERROR', 'An unexpected error occurred'),
    )
    expect(await all.ask({ path: '/settled/returns/%7B%22a%22:1%7D' })).toEqual(jsonAnswer(200, '{"a":1}'))
    expect(await all.ask({ path: '/settled/returns/nothing' })).toEqual({
      status: 304,
      headers: { 'x-request-id': 'test' },
      body: '',
    })
  })
})

const circular: Record<string, unknown> = {}
circular.self = circular

class Thrown extends Controller {
  GET_stop() {
    this.response.status = 201
    throw new CallStop(202, { a: 1 }, { 'x-stop': 'yes' })
  }
  GET_returned() {
    return new NotFound('as if thrown')
  }
  GET_redirect(status = '302') {
    const location = '/é there?a=%20b'
    throw status === '302' ? new Redirect(location) : new Redirect(location, 308)
  }
  GET_split() {
    throw new Redirect('/a\r\nset-cookie: evil=1')
  }
  GET_split_type() {
    this.response.type = 'text/plain\r\nx: y'
    return 'text'
  }
  GET_control() {
    this.response.headers.set('x-a', '\u0001')
    return 'text'
  }
  GET_status(status: string) {
    this.response.status = Number(status)
    return 'text'
  }
  GET_function() {
    return () => 1
  }
  GET_symbol() {
    return Symbol('a')
  }
  GET_circular() {
    return circular
  }
  async *GET_early() {
    yield await Promise.reject(new NotFound('before the first chunk'))
  }
  async GET_destroyed() {
    const file = createReadStream(join(folder, 'page.html'))
    await once(file.destroy(), 'close')
    return file
  }

  async GET_failed() {
    const file = createReadStream(join(folder, 'missing'))
    await once(file, 'error')
    return file
  }

  GET_no_file() {
    return createReadStream(join(folder, 'not-there'))
  }
}

describe('thrown values', () => {
  it('202: CallStop ends a call with its own answer', async () => {
    expect(await all.ask({ path: '/thrown/stop' })).toEqual(jsonAnswer(202, '{"a":1}', { 'x-stop': 'yes' }))
  })

  it.each([
    [302, '/thrown/redirect'],
    [308, '/thrown/redirect/308'],
  ])('%i: answers the error %s', async (status, path) => {
    const headers = { location: '/%C3%A9%20there?a=%20b', 'content-length': '0', 'x-request-id': 'test' }
    expect(await all.ask({ path })).toEqual({ status, headers, body: '' })
  })

  it.each([
    ['/thrown/returned', 'as if thrown'],
    ['/thrown/early', 'before the first chunk'],
  ])('404: answers %s', async (path, description) => {
    expect(await all.ask({ path })).toEqual(errorAnswer(404, 'RESOURCE_NOT_FOUND', description))
  })

  it.each([
    ['split'],
    ['split-type'],
    ['control'],
    ['status/100'],
    ['status/600'],
    ['status/x'],
    ['function'],
    ['symbol'],
    ['circular'],
    ['no-file'],
    ['destroyed'],
    ['failed'],
  ])('500: answers the error of /thrown/%s', async (name) => {
    const error = { type: 'SERVER_ERROR', description: 'An unexpected error occurred' }
    expect(await all.ask({ path: `/thrown/${name}` })).toEqual({
      status: 500,
      headers: { 'content-type': json, 'content-length': '95', 'x-request-id': 'test' },
      body: JSON.stringify({ statusCode: 500, error }),
    })
  })
})
