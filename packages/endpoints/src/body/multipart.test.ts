import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type EveryInterface, everyInterface } from '../../test/every-interface.ts'
import { errorBody } from '../../test/whole-answers.ts'
import { Application, type Args, accepts, Controller } from '../endpoints.ts'

class Bodies extends Controller {
  static POST_form = accepts({
    keywords: z.looseObject({}),
    bodyLimit: 100_000,
    multipart: { parts: 3, fileBytes: 20_000, fieldBytes: 10 },
  })
  async POST_form(...[keywords]: Args<typeof Bodies.POST_form>) {
    const fields = Object.entries(keywords).map(async ([name, value]) => [
      name,
      value instanceof File ? [value.name, value.type, await value.text()] : value,
    ])
    return Promise.all(fields)
  }

  static POST_parts = accepts({ body: 'raw', bodyLimit: 100_000, multipart: { fileBytes: 50_000 } })
  async POST_parts() {
    const parts: unknown[] = []
    for await (const part of this.request.parts()) {
      if (part.name === 'skipped') continue
      parts.push([part.name, part.filename ?? null, part.type, await part.text()])
    }
    return parts
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
  return [answer.status, JSON.parse(answer.body)]
}

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
    ['a file input without a file', [part('a', '1'), file('f', '', ''), file('g', '', '')], [['a', '1']]],
    ['a file without a name', [file('f', 'x', '')], [['f', ['', 'text/plain', 'x']]]],
    ['a name that comes twice', [part('a', '1'), part('a', '2')], [['a', ['1', '2']]]],
    ['nothing', [], []],
  ])('200: is read with %s', async (_name, parts, expected) => {
    expect(await post('form', `${parts.join('')}--X--\r\n`, type)).toEqual([200, expected])
  })

  const types = { 400: 'BAD_REQUEST', 413: 'PAYLOAD_TOO_LARGE' } as const
  const refusalOf = (status: keyof typeof types, description: string): readonly [number, unknown] => [
    status,
    errorBody(status, types[status], description),
  ]
  const BROKEN = 'The body is no multipart form'

  it.each<readonly [status: keyof typeof types, name: string, parts: readonly string[], description: string]>([
    [413, 'too many parts', Array(4).fill(part('a', '1')), 'The form has more than 3 parts'],
    [413, 'a large field', [part('a', '12345678901')], 'A field is too large'],
    [413, 'a large file', [file('f', '1'.repeat(20_001), 'n')], 'A file is too large'],
    [400, 'a part without a name', ['--X\r\nContent-Type: text/plain\r\n\r\n1\r\n'], BROKEN],
    [400, 'a part that is no field', ['--X\r\nContent-Disposition: file; name="a"\r\n\r\n1\r\n'], BROKEN],
    [400, 'a forbidden name', [part('__proto__', '1')], 'A keyword has a forbidden name'],
  ])('%i: is refused with %s', async (status, _name, parts, description) => {
    expect(await post('form', `${parts.join('')}--X--\r\n`, type)).toEqual(refusalOf(status, description))
  })

  // Encodes each character as one byte, as an old client sends it.
  const latin1 = (text: string) => new Uint8Array(Buffer.from(text, 'latin1'))
  const typed = (value: string, contentType: string, filename = '') =>
    `--X\r\nContent-Disposition: form-data; name="a"${filename}\r\nContent-Type: ${contentType}\r\n\r\n${value}\r\n`

  it.each([
    ['a byte that begins no character', part('a', 'caf\xe9-1')],
    ['a character that is cut off', part('a', 'x\xe2\x82')],
    ['an overlong character', part('a', '\xc0\xaf')],
    ['a surrogate', part('a', '\xed\xa0\x80')],
    ['UTF-16', part('a', '\xff\xfea\x00')],
    ['a name in Latin-1', part('caf\xe9', '1')],
    ['the name of a file in Latin-1', file('f', 'x', 'caf\xe9.txt')],
    ['a media type in Latin-1', typed('x', 'text/\xe9', '; filename="n"')],
  ])('400: is refused with %s, by both ways to read it', async (_name, sent) => {
    const body = latin1(`${sent}--X--\r\n`)
    const refused = refusalOf(400, 'The body is not UTF-8')
    expect([await post('form', body, type), await post('parts', body, type)]).toEqual([refused, refused])
  })

  it.each([
    ['415', 'a field in another charset', typed('caf\xe9', 'text/plain; charset=iso-8859-1')],
    ['415', 'a field that only names another charset', typed('x', 'text/plain; charset=UTF-16')],
  ])('%s: is refused with %s, by both ways to read it', async (_status, _name, sent) => {
    const refused = [
      415,
      errorBody(415, 'UNSUPPORTED_MEDIA_TYPE', 'The media type, charset or encoding of the body is not supported'),
    ]
    const body = latin1(`${sent}--X--\r\n`)
    expect([await post('form', body, type), await post('parts', body, type)]).toEqual([refused, refused])
  })

  it('200: a field may name the charset UTF-8', async () => {
    const body = `${typed('é', 'text/plain; charset="UTF-8"')}--X--\r\n`
    expect(await post('form', body, type)).toEqual([200, [['a', 'é']]])
  })

  it('200: a file may hold any bytes', async () => {
    const body = latin1(`${file('f', 'caf\xe9', 'n')}--X--\r\n`)
    expect(await post('form', body, type)).toEqual([200, [['f', ['n', 'text/plain', 'caf\ufffd']]]])
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
  })

  it('413: a raw handler refuses a large file', async () => {
    const large = `${file('f', 'y'.repeat(50_001), 'n')}--X--`
    expect(await post('parts', large, type)).toEqual(refusalOf(413, 'A file is too large'))
  })

  it('415: a raw handler refuses a body that is no form', async () => {
    const described = 'The media type, charset or encoding of the body is not supported'
    expect(await post('parts', '{}')).toEqual([415, errorBody(415, 'UNSUPPORTED_MEDIA_TYPE', described)])
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
  it.each<readonly [status: keyof typeof types, name: string, sent: readonly [type: string, start: string], string]>([
    [413, 'a large field', [type, opening], 'A field is too large'],
    [400, 'a large header', [type, '--X\r\nX: '], BROKEN],
    [400, 'a broken header', [type, '--X\r\n(: 1\r\n\r\n'], BROKEN],
    [400, 'no name', [type, '--X\r\nContent-Disposition: form-data\r\n\r\n'], BROKEN],
    [400, 'no boundary', ['multipart/form-data', opening], BROKEN],
  ])('%i: is refused with %s before the rest arrives', async (status, _name, [contentType, start], description) => {
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
    expect([answer.status, await answer.json()]).toEqual(refusalOf(status, description))
    expect(sent).toBeLessThan(6)
  })

  // Keeping a chunk would cost the process an object, but the client only a few bytes.
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
      // Overwrite only the first chunks, because the last chunks may not have been read yet.
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
