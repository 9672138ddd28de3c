import { once } from 'node:events'
import { createServer } from 'node:http'
import { brotliCompressSync, deflateSync, gunzipSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { type EveryInterface, everyInterface } from '../../test/every-interface.ts'
import { portOf } from '../../test/start.ts'
import { errorBody } from '../../test/whole-answers.ts'
import { Conflict, Controller } from '../endpoints.ts'

const TEXT = 'upstream '.repeat(1_000)
const gzipped = gzipSync(TEXT)
const coded = new Map<string, Buffer>([
  ['gzip', gzipped],
  ['x-gzip', gzipped],
  ['deflate', deflateSync(TEXT)],
  ['br', brotliCompressSync(TEXT)],
  ['zstd', zstdCompressSync(TEXT)],
  ['gzip, br', brotliCompressSync(gzipped)],
  ['rot13', Buffer.from(TEXT)],
])

/** A server that answers with the content coding in the path. */
const upstream = createServer(({ url = '' }, response) => {
  const coding = decodeURIComponent(url.slice(1))
  const body = coded.get(coding) ?? Buffer.of()
  response.sendDate = false
  response.writeHead(200, {
    'content-type': 'text/plain',
    'content-length': body.byteLength,
    'content-encoding': coding,
  })
  response.end(body)
})

class Gateway extends Controller {
  GET(coding: string) {
    const port = portOf(upstream)
    return fetch(`http://127.0.0.1:${port}/${encodeURIComponent(coding)}`)
  }
  GET_own() {
    return new Response(gzipped, { headers: { 'content-encoding': 'gzip' } })
  }
}

/** A database cursor that is iterable but not an iterator. It does its work when it is first read. */
class Cursor {
  readonly #begin: () => void

  constructor(begin: () => void) {
    this.#begin = begin
  }

  [Symbol.asyncIterator](): AsyncIterator<string> {
    const rows = ['a', 'b']
    return {
      next: async () => {
        if (rows.length === 2) this.#begin()
        const value = rows.shift()
        return value === undefined ? { done: true, value } : { done: false, value }
      },
    }
  }
}

/** Sets headers of the answer before it yields its first value. */
class Begun extends Controller {
  async *GET() {
    this.#set()
    yield 'a'
    yield 'b'
  }
  *GET_sync() {
    this.#set()
    yield 'a'
    yield 'b'
  }
  async *GET_empty() {
    this.#set()
    if (this.request.method === 'PUT') yield 'never'
  }
  async *GET_refused() {
    this.#set()
    yield await Promise.reject(new Conflict('too late'))
  }
  GET_cursor() {
    return new Cursor(() => this.#set())
  }
  GET_literal() {
    return { [Symbol.asyncIterator]: () => new Cursor(() => this.#set())[Symbol.asyncIterator]() }
  }
  GET_lost() {
    return new Cursor(() => {
      throw new Conflict('too late')
    })
  }
  async *GET_status(status: string) {
    this.response.status = Number(status)
    yield 'a'
  }
  async *GET_defect() {
    yield await Promise.reject(new Error('before the first value'))
  }
  async *GET_unencodable() {
    yield () => {}
  }
  GET_source() {
    return new ReadableStream(
      { pull: (controller) => controller.error(new Conflict('too late')) },
      { highWaterMark: 0 },
    )
  }
  #set() {
    this.response.status = 201
    this.response.type = 'text/event-stream'
    this.response.headers.set('x-set', 'yes')
  }
}

let all: EveryInterface
beforeAll(async () => {
  await once(upstream.listen(0, '127.0.0.1'), 'listening')
  all = await everyInterface({ modules: { index: { Begun, Gateway } } })
})
afterAll(async () => {
  await all.close()
  upstream.closeAllConnections()
  upstream.close()
})

it.each([['gzip'], ['x-gzip'], ['deflate'], ['br'], ['zstd'], ['gzip, br']])(
  'what fetch has decoded goes out without its coding and its length: %s',
  async (coding) => {
    expect(await all.ask({ path: `/gateway/${encodeURIComponent(coding)}` })).toEqual({
      status: 200,
      headers: { 'content-type': 'text/plain', 'x-request-id': 'test' },
      body: TEXT,
    })
  },
)

const set = { 'x-set': 'yes', 'x-request-id': 'test' }

it('what an async generator sets before its first value counts', async () => {
  expect(await all.ask({ path: '/begun' })).toEqual({
    status: 201,
    headers: { ...set, 'content-type': 'text/event-stream; charset=utf-8' },
    body: 'data: a\n\ndata: b\n\n',
  })
})

it.each([['cursor'], ['literal']])(
  'what an async iterable without next sets before its first value counts: %s',
  async (path) => {
    expect(await all.ask({ path: `/begun/${path}` })).toEqual({
      status: 201,
      headers: { ...set, 'content-type': 'text/event-stream; charset=utf-8' },
      body: 'data: a\n\ndata: b\n\n',
    })
  },
)

it('what a generator without values sets counts', async () => {
  const { status, headers } = await all.app.inject({ path: '/begun/empty' })
  expect([status, headers.get('content-type'), headers.get('x-set')]).toEqual([
    201,
    'text/event-stream; charset=utf-8',
    'yes',
  ])
})

it('what a generator sets before its first value counts', async () => {
  const { status, headers, body } = await all.ask({ path: '/begun/sync' })
  expect([status, headers['x-set'], body]).toEqual([201, 'yes', '["a","b"]'])
})

it.each([['refused'], ['lost']])('409: an error before the first value is an answer of its own: %s', async (path) => {
  const { status, body } = await all.ask({ path: `/begun/${path}` })
  expect([status, JSON.parse(body)]).toEqual([409, errorBody(409, 'CONFLICT', 'too late')])
})

it.each([
  ['', 201],
  ['/sync', 201],
  ['/cursor', 201],
  ['/literal', 201],
  ['/refused', 409],
  ['/status/202', 202],
  ['/status/204', 204],
  ['/status/304', 304],
  ['/defect', 500],
  ['/unencodable', 500],
  ['/source', 409],
])('HEAD /begun%s has the status %i and the headers of GET', async (path, status) => {
  const get = await all.ask({ path: `/begun${path}` })
  const head = await all.ask({ method: 'HEAD', path: `/begun${path}` })
  expect([get.status, head]).toEqual([status, { ...get, body: '' }])
})

it('an answer may be the Response of a library', async () => {
  vi.stubGlobal('Response', class Response extends globalThis.Response {})
  try {
    expect(await all.ask({ path: '/gateway/gzip' })).toEqual({
      status: 200,
      body: TEXT,
      headers: { 'content-type': 'text/plain', 'x-request-id': 'test' },
    })
  } finally {
    vi.unstubAllGlobals()
  }
})

it('sends a coding that fetch cannot decode unchanged', async () => {
  expect(await all.ask({ path: '/gateway/rot13' })).toEqual({
    status: 200,
    headers: {
      'content-type': 'text/plain',
      'content-encoding': 'rot13',
      'content-length': String(TEXT.length),
      'x-request-id': 'test',
    },
    body: TEXT,
  })
})

it('keeps the coding of a body that the application has encoded', async () => {
  const response = await all.app.inject({ path: '/gateway/own' })
  expect(response.headers.get('content-encoding')).toBe('gzip')
  expect(gunzipSync(await response.arrayBuffer()).toString()).toBe(TEXT)
})
