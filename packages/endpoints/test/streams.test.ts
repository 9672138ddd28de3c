import { once } from 'node:events'
import { type ClientRequest, createServer, type IncomingMessage, request as nodeRequest } from 'node:http'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import Fastify from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Application, accepts, Controller, fastifyOptions } from '../src/endpoints.ts'
import { portOf } from './start.ts'

/** Promises that resolve when the source of a stream ends, by the X-Name of the request. */
const ends = new Map<string, PromiseWithResolvers<string>>()
let produced = 0

function ended(name: string): PromiseWithResolvers<string> {
  const end = ends.get(name) ?? Promise.withResolvers<string>()
  ends.set(name, end)
  return end
}

const chunk = new Uint8Array(64 * 1024)

class Streams extends Controller {
  static GET_endless = accepts({ type: 'application/octet-stream' })
  async *GET_endless() {
    const { signal } = this.request
    try {
      for (produced = 0; ; produced += 1) yield chunk
    } finally {
      ended(this.request.header('x-name') ?? '').resolve(`closed, aborted ${signal.aborted}`)
    }
  }

  GET_readable() {
    const readable = new Readable({
      read() {
        this.push(chunk)
      },
    })
    readable.once('close', () => ended(this.request.header('x-name') ?? '').resolve('destroyed'))
    this.response.type = 'application/octet-stream'
    return readable
  }

  GET_web() {
    const end = ended(this.request.header('x-name') ?? '')
    return new ReadableStream({
      pull: (controller) => controller.enqueue(chunk),
      cancel: () => end.resolve('cancelled'),
    })
  }

  GET_length(announced: string) {
    return new Response(ReadableStream.from([Buffer.from('12345'), Buffer.from('67890')]), {
      headers: { 'content-length': announced },
    })
  }

  GET_texts() {
    return ReadableStream.from(['text', 'é'])
  }

  async *GET_late() {
    yield 'first'
    await ended('first-read').promise
    throw new Error('after the first chunk')
  }

  GET_silent() {
    const name = this.request.header('x-name') ?? ''
    const readable = new Readable({ read: () => ended(`${name} asked`).resolve('asked') })
    readable.once('close', () => ended(name).resolve('destroyed'))
    return readable
  }

  async GET_cut_off() {
    ended('cut-off-begun').resolve('begun')
    await setTimeout(1_000_000, undefined, { signal: this.request.signal })
  }

  async GET_waiting() {
    const { signal } = this.request
    ended('waiting-begun').resolve('begun')
    await once(signal, 'abort')
    ended('waiting').resolve('aborted')
    return 'nobody hears'
  }
}

const logged: string[] = []
const ports = new Map<string, number>()
let close: () => Promise<unknown>
let app: Application

beforeAll(async () => {
  const log = { warn: () => {}, error: (error: unknown) => void logged.push(String(error)) }
  app = await new Application({ modules: { index: { Default: Streams } }, log }).ready()
  const listener = createServer(app.listener)
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const fastify = Fastify({
    ...fastifyOptions(app),
    logger: { level: 'error', stream: { write: (line: string) => void logged.push(JSON.parse(line).err?.message) } },
  })
  await fastify.register(app.fastify)
  await fastify.listen({ port: 0 })
  ports.set('listener', portOf(listener)).set('fastify', portOf(fastify.server))
  close = async () => {
    listener.closeAllConnections()
    await Promise.all([new Promise((resolve) => listener.close(resolve)), fastify.close()])
  }
})
afterAll(() => close())

interface Opened {
  readonly response: IncomingMessage
  readonly destroy: () => void
}

function ask(server: string, path: string, name = '', method = 'GET'): ClientRequest {
  const port = ports.get(server)
  const request = nodeRequest({ port, host: '127.0.0.1', path, method, headers: { 'x-name': name }, agent: false })
  request.on('error', () => {}).end()
  return request
}

async function open(server: string, path: string, name = '', method = 'GET'): Promise<Opened> {
  const request = ask(server, path, name, method)
  const [response] = await once(request, 'response')
  response.on('error', () => {})
  return { response, destroy: () => void request.destroy() }
}

async function textOf(response: Readable): Promise<string> {
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) text += chunk
  return text
}

const cases = ['listener', 'fastify'].flatMap((server) =>
  ['endless', 'readable', 'web'].map((path) => [server, path] as const),
)

describe.each(cases)('a stream of %s at /%s', (server, path) => {
  it('closes its source when the client goes away', async () => {
    const name = `${server} ${path} gone`
    const { response, destroy } = await open(server, `/${path}`, name)
    await once(response, 'data')
    destroy()
    expect(await ended(name).promise).toMatch(/^(closed, aborted true|destroyed|cancelled)$/)
  })

  it('ends after its first bytes for HEAD', async () => {
    const name = `${server} ${path} head`
    const { response } = await open(server, `/${path}`, name, 'HEAD')
    expect([response.statusCode, response.headers['content-type']]).toEqual([200, 'application/octet-stream'])
    expect(await ended(name).promise).toMatch(/^(closed, aborted false|destroyed|cancelled)$/)
  })
})

describe.each([['listener'], ['fastify']])('an endless stream of %s', (server) => {
  it('reads no further ahead than the client', async () => {
    const { response, destroy } = await open(server, '/endless', `${server} slow`)
    await once(response, 'readable')
    response.pause()
    // The buffers of the kernel fill first. After that, the source produces nothing more.
    for (let turns = 0, before = -1; turns < 200; turns = before === produced ? turns + 1 : 0) {
      before = produced
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(produced * chunk.byteLength).toBeLessThan(64 * 1024 * 1024)
    destroy()
  })

  it('breaks the connection when a stream fails after its first bytes, and logs it', async () => {
    logged.length = 0
    ends.delete('first-read')
    const { response } = await open(server, '/late')
    const chunks: Buffer[] = []
    response.on('data', (data) => {
      chunks.push(data)
      ended('first-read').resolve('read')
    })
    await new Promise((resolve) => response.once('close', resolve))
    expect(response.complete).toBe(false)
    expect(Buffer.concat(chunks).toString()).toBe('["first"')
    expect(logged).toContainEqual(expect.stringContaining('after the first chunk'))
  })

  it.each([
    ['10', '1234567890'],
    ['7', '1234567'],
    ['0', ''],
  ])('sends no more than the %s bytes that were announced', async (announced, expected) => {
    // Read the raw bytes of the connection, because an HTTP client would stop after Content-Length.
    const socket = connect(ports.get(server) ?? 0, '127.0.0.1')
    socket.end(`GET /length/${announced} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`)
    const [head, sent] = (await textOf(socket)).split('\r\n\r\n')
    expect(head).toContain(`content-length: ${announced}\r\n`)
    expect(sent).toBe(expected)
  })

  it('breaks the connection of a stream that is shorter than announced, and logs it', async () => {
    logged.length = 0
    const read = async () => textOf((await open(server, '/length/11')).response)
    // Depending on the timing, the headers may or may not arrive.
    await expect(read()).rejects.toThrow(/aborted|socket hang up/)
    expect(logged).toEqual([expect.stringContaining('a stream ended 1 bytes before its announced length')])
  })

  it('sends texts of a web stream as UTF-8', async () => {
    expect(await textOf((await open(server, '/texts')).response)).toBe('texté')
    expect(await (await app.inject({ path: '/texts' })).text()).toBe('texté')
  })

  it('closes a silent source when the client goes away, and logs no fault', async () => {
    logged.length = 0
    const name = `${server} silent`
    const answered = new Promise((resolve) => app.on('route', resolve))
    const gone = ask(server, '/silent', name)
    await ended(`${name} asked`).promise
    gone.destroy()
    expect(await ended(name).promise).toBe('destroyed')
    await answered
    expect(logged).toEqual([])
  })

  it('logs no fault when the client goes away', async () => {
    logged.length = 0
    ends.delete('cut-off-begun')
    const answered = new Promise((resolve) => app.on('route', resolve))
    const gone = ask(server, '/cut-off')
    await ended('cut-off-begun').promise
    gone.destroy()
    await answered
    expect(logged).toEqual([])
  })

  it('aborts the signal of a request whose client goes away', async () => {
    ends.delete('waiting')
    ends.delete('waiting-begun')
    const request = ask(server, '/waiting')
    await ended('waiting-begun').promise
    request.destroy()
    expect(await ended('waiting').promise).toBe('aborted')
  })
})

describe('fetch', () => {
  it.each([['endless'], ['readable'], ['web']])('cancelling the body of /%s closes its source', async (path) => {
    const name = `fetch ${path}`
    const response = await app.fetch(new Request(`http://localhost/${path}`, { headers: { 'x-name': name } }))
    const reader = response.body?.getReader()
    await reader?.read()
    await reader?.cancel()
    expect(await ended(name).promise).toMatch(/^(closed|destroyed|cancelled)/)
  })

  it('errors the body when a stream fails after its first bytes', async () => {
    ended('first-read').resolve('read')
    const response = await app.fetch(new Request('http://localhost/late'))
    expect(response.status).toBe(200)
    await expect(response.text()).rejects.toThrow('after the first chunk')
  })
})
