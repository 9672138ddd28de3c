import { once } from 'node:events'
import { createServer, type OutgoingHttpHeaders, type RequestListener } from 'node:http'
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2'
import { connect } from 'node:net'
import Fastify from 'fastify'
import { afterEach, describe, expect, it } from 'vitest'
import { fetchListener } from '../src/cli/serve.ts'
import { Application, accepts, Controller, fastifyOptions } from '../src/endpoints.ts'
import { modules, quiet } from './shown-request.ts'
import { portOf } from './start.ts'
import { errorBody } from './whole-answers.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function listenerUrl({ listener }: { readonly listener: RequestListener }): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(() => server.close())
  return `http://127.0.0.1:${portOf(server)}`
}

describe('fetch', () => {
  it.each([
    [[], ''],
    [[{ remoteAddr: { hostname: '9.8.7.6' } }], '9.8.7.6'],
    [[{ incoming: { socket: { remoteAddress: '::1' } } }, {}], '::1'],
    [[{}, 'ctx'], ''],
  ])('with %j beside the request the address is "%s"', async (extra, ip) => {
    const { fetch } = new Application({ modules, context: { word: 'hello' } })
    const response = await fetch(new Request('https://shop.example/'), ...extra)
    expect(await response.json()).toEqual({
      ip,
      origin: 'https://shop.example',
      extra: extra.length,
      word: 'hello',
      id: expect.any(String),
    })
  })

  it('is the handler that the factory returns', () => {
    const app = new Application({ modules })
    expect(app.factory()).toBe(app.fetch)
  })

  it('gives a handler the raw body as a stream, as bytes or not at all', async () => {
    const { fetch } = new Application({ modules })
    const ask = async (method: string, body: string) =>
      (await fetch(new Request('http://localhost/', { method, body }))).text()
    expect(await ask('PUT', 'streamed')).toBe('"streamed"')
    expect(await ask('PATCH', '[1]')).toBe('[1]')
    expect(await ask('DELETE', 'x')).toBe('"not read"')
    expect(await (await fetch(new Request('http://localhost/', { method: 'PUT' }))).text()).toBe('""')
    const long = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(2 ** 18)) })
    const init = {
      method: 'POST',
      body: long,
      duplex: 'half',
      headers: { 'content-type': 'application/json' },
    } as const
    const refused = await fetch(new Request('http://localhost/', init))
    expect([refused.status, await refused.json()]).toEqual([
      413,
      errorBody(413, 'PAYLOAD_TOO_LARGE', 'The body is larger than 1048576 bytes'),
    ])
  })
})

describe('listener', () => {
  it('reads raw bodies, in one piece or in many', async () => {
    const url = await listenerUrl(new Application({ modules }))
    const ask = async (method: string, body: ReadableStream | string) =>
      (await fetch(url, { method, body, duplex: 'half' })).text()
    expect(await ask('PUT', 'streamed')).toBe('"streamed"')
    expect(await ask('PUT', ReadableStream.from(['a', 'b']).pipeThrough(new TextEncoderStream()))).toBe('"ab"')
    expect(await ask('PATCH', '{"a":1}')).toBe('{"a":1}')
    expect(await ask('DELETE', 'x'.repeat(100_000))).toBe('"not read"')
    expect((await fetch(url, { method: 'PUT' })).status).toBe(200)
  })

  it.each([
    ['{"a":', '1}', 'application/json', 200, { a: 1 }],
    ['', '', 'application/xml', 200, {}],
    [
      '<a/>',
      '',
      'application/xml',
      415,
      errorBody(415, 'UNSUPPORTED_MEDIA_TYPE', 'The media type, charset or encoding of the body is not supported'),
    ],
    ['a=1', '&b', 'application/x-www-form-urlencoded;broken', 200, { a: '1', b: '' }],
  ])('chunks "%s" and "%s" as %s: %i', async (first, second, ...[type, status, answer]) => {
    const url = await listenerUrl(new Application({ modules }))
    const body = ReadableStream.from([first, second].filter((text) => text !== '')).pipeThrough(new TextEncoderStream())
    const init = { method: 'POST', body, duplex: 'half', headers: { 'content-type': type } } as const
    const answered = await fetch(url, init)
    expect([answered.status, await answered.json()]).toEqual([status, answer])
  })

  it('knows the address and the host of the client', async () => {
    const url = await listenerUrl(new Application({ modules }))
    expect(await (await fetch(url)).json()).toEqual({
      ip: '127.0.0.1',
      origin: url,
      extra: 1,
      id: expect.any(String),
      word: null,
    })
  })

  it('adds nothing when a handler has answered by itself', async () => {
    const url = await listenerUrl(new Application({ modules }))
    expect(await (await fetch(`${url}/raw`)).text()).toBe('by itself')
    const host = Fastify().register(new Application({ modules }).fastify)
    expect((await host.inject('/raw')).body).toBe('by itself')
    await host.close()
  })

  it('closes the connection of a body that is too large', async () => {
    const url = new URL(await listenerUrl(new Application({ modules, bodyLimit: 10 })))
    const socket = connect(Number(url.port), '127.0.0.1')
    socket.write('POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n')
    const chunks: Buffer[] = []
    for await (const chunk of socket) chunks.push(chunk)
    const answer = Buffer.concat(chunks).toString()
    expect(answer).toMatch(/^HTTP\/1\.1 413 .*connection: close\r\n/s)
    expect(answer).toContain('"PAYLOAD_TOO_LARGE"')
  })

  it.each([
    ['POST', 'listener'],
    ['PUT', 'listener'],
    ['PATCH', 'listener'],
    ['POST', 'fetch'],
    ['PUT', 'fetch'],
    ['PATCH', 'fetch'],
  ])('goes on after a client leaves in the middle of its body: %s by %s', async (method, form) => {
    const faults: unknown[] = []
    const log = { warn: () => {}, error: (error: unknown) => void faults.push(error) }
    const app = await new Application({ modules, log }).ready()
    const answered = new Promise((resolve) => app.on('route', (_request, status) => resolve(status)))
    const url = new URL(await listenerUrl(form === 'fetch' ? { listener: fetchListener(app.fetch) } : app))
    const socket = connect(Number(url.port), '127.0.0.1')
    const head = `${method} / HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n`
    socket.write(`${head}{"a":`, () => socket.destroy())
    expect([await answered, faults]).toEqual([400, []])
  })
})

it('goes on after a client leaves before its body is read', async () => {
  class Slow extends Controller {
    static POST = accepts({ use: [({ request }) => once(request.signal, 'abort')] })
    POST() {}
  }
  const app = await new Application({ modules: { index: { Slow } }, log: quiet }).ready()
  const answered = new Promise((resolve) => app.on('route', (_request, status) => resolve(status)))
  const url = new URL(await listenerUrl(app))
  const socket = connect(Number(url.port), '127.0.0.1')
  const head = 'POST /slow HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n'
  socket.write(head, () => socket.destroy())
  expect(await answered).toBe(400)
})

it('answers HTTP/2 like HTTP/1', async () => {
  const app = await new Application({ modules, bodyLimit: 10 }).ready()
  const server = createHttp2Server((request, response) => {
    app.listener(request, response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${portOf(server)}`
  const client = connectHttp2(url)
  const ask = async (headers: OutgoingHttpHeaders, body = ''): Promise<[unknown, string]> => {
    const stream = client.request(headers)
    const answered = once(stream, 'response')
    if (headers[':method'] === 'POST') stream.end(body)
    const [head] = await answered
    let text = ''
    for await (const chunk of stream) text += chunk
    return [head[':status'], text]
  }
  const [status, text] = await ask({ ':path': '/' })
  expect([status, JSON.parse(text)]).toEqual([
    200,
    { origin: url, ip: '127.0.0.1', id: expect.any(String), extra: 1, word: null },
  ])
  const json = { ':method': 'POST', ':path': '/', 'content-type': 'application/json' }
  expect(await ask({ ...json, 'content-length': 7 }, '{"a":1}')).toEqual([200, '{"a":1}'])
  expect(await ask(json, '{"a":1}')).toEqual([200, '{"a":1}'])
  expect(await ask(json)).toEqual([200, '{}'])
  const tooLarge = [413, JSON.stringify(errorBody(413, 'PAYLOAD_TOO_LARGE', 'The body is larger than 10 bytes'))]
  expect(await ask({ ...json, 'content-length': 11 }, '{"a":12345}')).toEqual(tooLarge)
  expect(await ask(json, '{"a":12345}')).toEqual(tooLarge)
  client.close()
  server.close()
})

it('one answer that cannot be sent does not end the server', async () => {
  class Default extends Controller {
    GET() {
      // HTTP/2 forbids this header, so Node.js throws when it writes the headers.
      this.response.headers.set('keep-alive', 'timeout=5')
      return 'not sent'
    }
    GET_next() {
      return 'sent'
    }
  }
  const faults: unknown[] = []
  const log = { warn: () => {}, error: (error: unknown) => void faults.push(error) }
  const app = await new Application({ modules: { index: { Default } }, log }).ready()
  const logger = { level: 'error', stream: { write: (line: string) => void faults.push(JSON.parse(line).err) } }
  // The options fit servers of HTTP/1 and of HTTP/2, but the types of Fastify accept only one of them.
  const fastify = Fastify({ ...fastifyOptions(app), http2: true, logger } as object)
  await fastify.register(app.fastify)
  await fastify.listen({ port: 0, host: '127.0.0.1' })
  const listener = createHttp2Server((request, response) => {
    app.listener(request, response)
  }).listen(0, '127.0.0.1')
  await once(listener, 'listening')
  for (const server of [listener, fastify.server]) {
    faults.length = 0
    const client = connectHttp2(`http://127.0.0.1:${portOf(server)}`)
    const broken = client.request({ ':path': '/' }).on('error', () => {})
    await once(broken, 'close')
    const [head] = await once(client.request({ ':path': '/next' }).resume(), 'response')
    const codes = faults.map((fault) => typeof fault === 'object' && fault && 'code' in fault && fault.code)
    expect([head[':status'], codes]).toEqual([200, ['ERR_HTTP2_INVALID_CONNECTION_HEADERS']])
    client.close()
  }
  listener.close()
  await fastify.close()
})

describe('inject', () => {
  it.each([
    ['a plain value', { a: 1 }, '{"a":1}'],
    ['a form', new URLSearchParams({ a: '1' }), '{"a":"1"}'],
  ])('sends %s as the body %s', async (_name, body, expected) => {
    const app = new Application({ modules })
    expect(await (await app.inject({ method: 'POST', path: '/', body })).text()).toBe(expected)
  })

  it('sends the files of a form, each by the name of its field', async () => {
    const form = new FormData()
    form.set('a', new File(['text'], 'a.txt'))
    const app = new Application({ modules })
    expect(await (await app.inject({ method: 'POST', path: '/', body: form })).json()).toEqual({ a: {} })
  })
})
