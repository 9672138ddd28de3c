import { once } from 'node:events'
import { createServer, request as nodeRequest } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { Application, type Args, accepts, Controller, p } from '../src/endpoints.ts'
import { type EveryInterface, everyInterface } from './every-interface.ts'
import { portOf } from './port-of.ts'
import { errorBody } from './whole-answers.ts'

/** zod checks these bounds by the length of any value, also of values that are not texts. */
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

  static POST_defect = accepts({ keywords: z.object({ free: z.json().transform((value) => Object(value).a.b) }) })
  POST_defect(..._args: Args<typeof Bodies.POST_defect>) {}

  static GET_since = accepts({ path: [p.date()] })
  GET_since(...[date]: Args<typeof Bodies.GET_since>) {
    return date
  }

  static POST_form = accepts({
    keywords: z.looseObject({}),
    bodyLimit: 100_000,
    multipart: { parts: 3, fileBytes: 20_000, fieldBytes: 10 },
  })
  async POST_form(...[keywords]: Args<typeof Bodies.POST_form>) {
    const told = Object.entries(keywords).map(async ([name, value]) => [
      name,
      value instanceof File ? [value.name, value.type, await value.text()] : value,
    ])
    return Promise.all(told)
  }

  static POST_parts = accepts({ body: 'raw', bodyLimit: 100_000, multipart: { fileBytes: 50_000 } })
  async POST_parts() {
    const told: unknown[] = []
    for await (const part of this.request.parts()) {
      if (part.name === 'skipped') continue
      told.push([part.name, part.filename ?? null, part.type, await part.text()])
    }
    return told
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

async function post(path: string, body: string, type = 'application/json'): Promise<readonly [number, unknown]> {
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

const type = 'multipart/form-data; boundary=X'
const part = (name: string, text: string, more = ''): string =>
  `--X\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${text}\r\n`
const file = (name: string, text: string, filename: string): string =>
  part(name, text, `; filename="${filename}"\r\nContent-Type: text/plain`)

describe('a multipart form', () => {
  it.each([
    [
      'fields and files',
      [part('a', '1'), file('f', 'é', 'n.txt')],
      [
        ['a', '1'],
        ['f', ['n.txt', 'text/plain', 'é']],
      ],
    ],
    [
      'a name beyond Latin-1',
      [file('日', 'x', '日 %22q%22; name=.txt')],
      [['日', ['日 "q"; name=.txt', 'text/plain', 'x']]],
    ],
    ['a line break before the boundary', [part('a', '\r\n--Y\r\n')], [['a', '\r\n--Y\r\n']]],
    [
      'an empty field and an empty file',
      [part('a', ''), file('f', '', 'e')],
      [
        ['a', ''],
        ['f', ['e', 'text/plain', '']],
      ],
    ],
    ['a name that comes twice', [part('a', '1'), part('a', '2')], [['a', ['1', '2']]]],
    ['nothing', [], []],
  ])('200: is read with %s', async (_name, parts, expected) => {
    expect(await post('form', `${parts.join('')}--X--\r\n`, type)).toEqual([200, expected])
  })

  it.each([
    ['too many parts', Array(4).fill(part('a', '1')), 413, 'The form has more than 3 parts'],
    ['a large field', [part('a', '12345678901')], 413, 'A field is too large'],
    ['a large file', [file('f', '1'.repeat(20_001), 'n')], 413, 'A file is too large'],
    ['a part without a name', ['--X\r\nContent-Type: text/plain\r\n\r\n1\r\n'], 400, 'The body is no multipart form'],
    [
      'a part that is no field',
      ['--X\r\nContent-Disposition: file; name="a"\r\n\r\n1\r\n'],
      400,
      'The body is no multipart form',
    ],
    ['a forbidden name', [part('__proto__', '1')], 400, 'A keyword has a forbidden name'],
  ])('is refused with %s', async (_name, parts, status, message) => {
    expect(await post('form', `${parts.join('')}--X--\r\n`, type)).toEqual([status, message])
  })

  it('400: is refused when it is cut off anywhere', async () => {
    const whole = `${part('a', '1')}${file('f', 'text', 'n')}--X--`
    for (let length = 1; length < whole.length; length += 1) {
      const body = whole.slice(0, length)
      const request = { method: 'POST', path: '/bodies/form', headers: { 'content-type': type }, body }
      const refused = await all.app.inject(request)
      expect([refused.status, await refused.json()], body).toEqual([
        400,
        errorBody(400, 'BAD_REQUEST', 'The body is no multipart form'),
      ])
    }
  })

  it('200: a raw handler reads it part by part, and may skip parts', async () => {
    const parts = [file('skipped', 'x'.repeat(30_000), 's'), part('a', '1'), file('f', 'y'.repeat(40_000), 'n')]
    const expected = [
      ['a', null, 'text/plain', '1'],
      ['f', 'n', 'text/plain', 'y'.repeat(40_000)],
    ]
    expect(await post('parts', `${parts.join('')}--X--`, type)).toEqual([200, expected])
    expect(await post('parts', `${file('f', 'y'.repeat(50_001), 'n')}--X--`, type)).toEqual([
      413,
      'A file is too large',
    ])
    expect(await post('parts', '{}')).toEqual([415, expect.any(String)])
  })

  it('a raw handler gets the first bytes of a file before the client sends the last', async () => {
    const seen: string[] = []
    const last = Promise.withResolvers<void>()
    class Upload extends Controller {
      static POST = accepts({ body: 'raw', bodyLimit: Number.POSITIVE_INFINITY })
      async POST() {
        for await (const each of this.request.parts()) {
          for await (const chunk of each.stream()) {
            seen.push(new TextDecoder().decode(chunk))
            last.resolve()
          }
        }
        return seen.join('').length
      }
    }
    const { fetch } = new Application({ modules: { index: { Upload } } })
    const body = new ReadableStream({
      async start(controller) {
        const send = (text: string) => controller.enqueue(new TextEncoder().encode(text))
        send(`--X\r\nContent-Disposition: form-data; name="f"; filename="n"\r\n\r\n${'a'.repeat(1_000)}`)
        await last.promise
        send(`${'b'.repeat(500)}\r\n--X--`)
        controller.close()
      },
    })
    const init: RequestInit = { method: 'POST', headers: { 'content-type': type }, body, duplex: 'half' }
    expect(await (await fetch(new Request('http://localhost/upload', init))).text()).toBe('1500')
  })

  const opening = '--X\r\nContent-Disposition: form-data; name="a"\r\n\r\n'
  const broken = [400, 'The body is no multipart form']
  it.each([
    ['a large field', [type, opening], [413, 'A field is too large']],
    ['a large header', [type, '--X\r\nX: '], broken],
    ['a broken header', [type, '--X\r\n(: 1\r\n\r\n'], broken],
    ['no name', [type, '--X\r\nContent-Disposition: form-data\r\n\r\n'], broken],
    ['no boundary', ['multipart/form-data', opening], broken],
  ])('is refused with %s before the rest arrives', async (_name, [contentType = '', start], expected) => {
    let sent = 0
    const body = new ReadableStream({
      pull(controller) {
        controller.enqueue(new TextEncoder().encode(sent === 0 ? start : 'z'.repeat(10_000)))
        sent += 1
        if (sent === 100) controller.close()
      },
    })
    class Upload extends Controller {
      static POST = accepts({ body: 'raw', bodyLimit: Number.POSITIVE_INFINITY, multipart: { fieldBytes: 10_000 } })
      async POST() {
        for await (const each of this.request.parts()) await each.bytes()
      }
    }
    const { fetch } = new Application({ modules: { index: { Upload } } })
    const init: RequestInit = { method: 'POST', headers: { 'content-type': contentType }, body, duplex: 'half' }
    const answer = await fetch(new Request('http://localhost/upload', init))
    expect([answer.status, Object(await answer.json()).error.description]).toEqual(expected)
    expect(sent).toBeLessThan(6)
  })

  // A kept chunk would cost the process an object, and the client only a few bytes.
  it('copies the chunks of a field as they arrive, and keeps none', async () => {
    class Upload extends Controller {
      static POST = accepts({ keywords: z.object({ a: z.string() }) })
      POST(...[{ a }]: Args<typeof Upload.POST>) {
        return a
      }
    }
    const encode = (text: string) => new TextEncoder().encode(text)
    async function* send(): AsyncGenerator<Uint8Array, void> {
      yield encode(opening)
      const chunks = Array.from({ length: 100 }, () => encode('z'.repeat(20)))
      yield* chunks
      // The last chunks may not have arrived yet.
      for (const chunk of chunks.slice(0, 50)) chunk.fill(0)
      yield encode('\r\n--X--')
    }
    const { fetch } = new Application({ modules: { index: { Upload } } })
    const body = ReadableStream.from(send())
    const init: RequestInit = { method: 'POST', headers: { 'content-type': type }, body, duplex: 'half' }
    expect(await (await fetch(new Request('http://localhost/upload', init))).json()).toBe('z'.repeat(2_000))
  })

  it('start fails for an unknown limit', () => {
    expect(() => new Application({ modules: {}, multipart: { fileBytes: Number.NaN } })).toThrow('multipart.fileBytes')
    expect(() => Reflect.construct(Application, [{ multipart: { files: 1 } }])).toThrow('multipart has no limit files')
  })
})
