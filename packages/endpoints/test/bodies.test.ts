import { once } from 'node:events'
import { createServer, request as nodeRequest } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { Application, type Args, accepts, Controller, p } from '../src/endpoints.ts'
import { type EveryInterface, everyInterface } from './every-interface.ts'
import { portOf } from './start.ts'
import { errorBody } from './whole-answers.ts'

/** Because of `when`, zod runs this check for values of all types, not only for texts. */
const bounded = z.string().refine(({ length }) => length >= 3 && length <= 5, { message: 'length', when: () => true })

class Bodies extends Controller {
  static POST_twice = accepts({ body: 'raw' })
  async POST_twice() {
    return [await this.request.text(), await this.request.json(), (await this.request.bytes()).byteLength]
  }

  static POST_stream_twice = accepts({ body: 'raw' })
  async POST_stream_twice() {
    await this.request.stream().cancel()
    return this.request.text()
  }

  static POST_bound = accepts({ keywords: z.object({ a: z.int() }) })
  async POST_bound(..._args: Args<typeof Bodies.POST_bound>) {
    return this.request.text()
  }

  static POST_less = accepts({ body: 'raw' })
  async POST_less() {
    await this.request.bytes()
    return (await this.request.bytes(3)).byteLength
  }

  static POST_limited = accepts({ body: 'raw', bodyLimit: 10 })
  async POST_limited() {
    return this.#count(this.request.stream())
  }

  static POST_any = accepts({ body: 'raw', bodyLimit: 10 })
  async POST_any() {
    return this.#count(this.request.stream(Number.POSITIVE_INFINITY))
  }

  static POST_title = accepts({ keywords: z.object({ title: bounded, free: z.json().optional() }) })
  POST_title(...[{ free = null }]: Args<typeof Bodies.POST_title>) {
    return { free }
  }

  static POST_title_async = accepts({ keywords: z.object({ title: bounded.refine(async () => true) }) })
  POST_title_async(..._args: Args<typeof Bodies.POST_title_async>) {}

  static POST_defect = accepts({ keywords: z.object({ free: z.json().transform((value) => `${value}`) }) })
  POST_defect(..._args: Args<typeof Bodies.POST_defect>) {}

  static GET_since = accepts({ path: [p.date()] })
  GET_since(...[date]: Args<typeof Bodies.GET_since>) {
    return date
  }

  async #count(stream: ReadableStream<Uint8Array>): Promise<number> {
    let size = 0
    for await (const chunk of stream) size += chunk.byteLength
    return size
  }
}

let all: EveryInterface
beforeAll(async () => {
  all = await everyInterface({ modules: { index: { Bodies } } })
})
afterAll(() => all.close())

async function post(
  path: string,
  body: string | Uint8Array<ArrayBuffer>,
  type = 'application/json',
): Promise<readonly [number, unknown]> {
  const answer = await all.ask({ method: 'POST', path: `/bodies/${path}`, headers: { 'content-type': type }, body })
  const parsed = JSON.parse(answer.body)
  return [answer.status, parsed.error?.description ?? parsed]
}

describe('a raw body', () => {
  it('200: can be read more than once', async () => {
    expect(await post('twice', '{"a":1}')).toEqual([200, ['{"a":1}', { a: 1 }, 7]])
    expect(await post('less', 'abc')).toEqual([200, 3])
    expect(await post('less', 'abcd')).toEqual([413, 'The body is larger than 3 bytes'])
  })

  it.each([
    ['a byte of Latin-1', '"caf\xe9"'],
    ['a character that is cut off', '"\xe2\x82'],
  ])('400: is refused with %s, before a handler sees a text', async (_name, text) => {
    const body = new Uint8Array(Buffer.from(text, 'latin1'))
    expect(await post('twice', body)).toEqual([400, 'The body is not UTF-8'])
  })

  it.each([['stream-twice'], ['bound']])(
    '500: /%s reads what has been read, on every interface alike',
    async (path) => {
      expect(await post(path, '{"a":1}')).toEqual([500, 'An unexpected error occurred'])
    },
  )

  it('413: its stream ends at the limit of the handler, with and without Content-Length', async () => {
    expect(await post('limited', '1234567890')).toEqual([200, 10])
    expect(await post('limited', '12345678901')).toEqual([413, 'The body is larger than 10 bytes'])
    const chunked = ReadableStream.from(['123456', '78901'].map((text) => new TextEncoder().encode(text)))
    const init: RequestInit = { method: 'POST', body: chunked, duplex: 'half' }
    const refused = await all.app.fetch(new Request('http://localhost/bodies/limited', init))
    expect([refused.status, await refused.json()]).toEqual([
      413,
      errorBody(413, 'PAYLOAD_TOO_LARGE', 'The body is larger than 10 bytes'),
    ])
    expect(await post('any', '1'.repeat(100_000))).toEqual([200, 100_000])
  })

  it('is complete when it arrives byte by byte', async () => {
    const app = await new Application({ modules: { index: { Bodies } } }).ready()
    const server = createServer(app.listener).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const port = portOf(server)
    const request = nodeRequest({ port, path: '/bodies/twice', method: 'POST' })
    const text = JSON.stringify({ a: Array.from({ length: 300 }, (_, i) => i) })
    for (const character of text) {
      request.write(character)
      await new Promise((resolve) => setImmediate(resolve))
    }
    const [response] = await once(request.end(), 'response')
    expect(JSON.parse(String(await response.toArray()))[0]).toBe(text)
    server.close()
  })
})

describe('an object in place of a text', () => {
  it.each([
    ['title', '{"title":{"length":{"toString":0}}}'],
    ['title', '{"title":{"length":{"toString":0,"valueOf":{}}},"free":{"toString":1}}'],
    ['title', '{"title":[{"toString":null}]}'],
    ['title-async', '{"title":{"length":{"toString":0}}}'],
  ])('400: /%s refuses %s, whatever its member length is', async (path, body) => {
    expect(await post(path, body)).toEqual([400, expect.stringMatching(/^title: Invalid input: expected string/)])
  })

  it('200: is accepted by a schema of any JSON', async () => {
    const free = { length: { toString: 0 }, valueOf: [] }
    expect(await post('title', JSON.stringify({ title: 'abc', free }))).toEqual([200, { free }])
  })

  it('500: a defect of a schema is no fault of the client', async () => {
    expect(await post('defect', '{"free":{"toString":0}}')).toEqual([500, 'An unexpected error occurred'])
  })
})

describe('p.date', () => {
  it('accepts a date and a time', async () => {
    const ask = async (path: string): Promise<string> => (await all.ask({ path: `/bodies/since/${path}` })).body
    expect(await ask('2024-01-01')).toBe('"2024-01-01T00:00:00.000Z"')
    expect(await ask('2024-01-01T02:00:00+02:00')).toBe('"2024-01-01T00:00:00.000Z"')
    expect(JSON.parse(await ask('2024-13-01'))).toEqual({
      statusCode: 400,
      error: {
        type: 'VALIDATION_ERROR',
        description: 'path[0]: must be a date such as 2026-01-31, or a time such as 2026-01-31T12:00:00Z',
        issues: [
          { path: 'path[0]', message: 'must be a date such as 2026-01-31, or a time such as 2026-01-31T12:00:00Z' },
        ],
      },
    })
  })
})
