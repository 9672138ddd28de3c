import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import Fastify from 'fastify'
import { afterEach, describe, expect, it } from 'vitest'
import { Application, Controller, fastifyOptions } from '../src/endpoints.ts'

const WRITE_TIMEOUT_MS = 200
const MANY = 32 * 1024 * 1024
const closed: string[] = []

/** An iterator that will not end. */
class Stubborn implements AsyncIterable<string> {
  [Symbol.asyncIterator](): AsyncIterator<string> {
    return {
      next: async () => ({ done: false, value: 'x'.repeat(64 * 1024) }),
      return: () => {
        closed.push('iterator')
        throw new Error('it will not end')
      },
    }
  }
}

class Big extends Controller {
  GET() {
    return 'x'.repeat(MANY)
  }

  async *GET_stream() {
    try {
      for (;;) yield 'x'.repeat(64 * 1024)
    } finally {
      closed.push('stream')
    }
  }

  /** Nothing waits for the client here: it is the source that takes its time. */
  async *GET_slow() {
    yield 1
    await setTimeout(3 * WRITE_TIMEOUT_MS)
    yield 2
  }

  GET_iterator() {
    return new Stubborn()
  }
}

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function listening(writeTimeout?: number): Promise<number> {
  const app = await new Application({
    modules: { index: { Big } },
    ...(writeTimeout === undefined ? {} : { writeTimeout }),
  }).ready()
  const server = createServer(app.listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

describe('a client that takes nothing of its answer', () => {
  it.each([['/big'], ['/big/stream']])('%s: is cut off', async (path) => {
    const socket = connect(await listening(WRITE_TIMEOUT_MS), '127.0.0.1').pause()
    socket.on('error', () => {})
    socket.write(`GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`)
    await setTimeout(5 * WRITE_TIMEOUT_MS)
    let size = 0
    socket.on('data', (data) => {
      size += data.length
    })
    socket.resume()
    await once(socket, 'close')
    expect(size).toBeLessThan(MANY)
  })

  it('is not cut off while it takes some, nor where the source is slow', async () => {
    const port = await listening(WRITE_TIMEOUT_MS)
    expect(await (await fetch(`http://127.0.0.1:${port}/big/slow`)).text()).toBe('[1,2]')
    // Each pause is far below the limit, since a busy machine adds to it; all of them together are above.
    const patientMs = 5 * WRITE_TIMEOUT_MS
    const response = await fetch(`http://127.0.0.1:${await listening(patientMs)}/big`)
    let size = 0
    let pauses = 0
    for await (const chunk of response.body ?? []) {
      size += chunk.byteLength
      if (size > pauses * (MANY / 6)) {
        pauses += 1
        await setTimeout(patientMs / 5)
      }
    }
    expect(size).toBe(MANY + 2)
  })

  it('has a time that is a number', () => {
    expect(() => new Application({ writeTimeout: Number.NaN })).toThrow('writeTimeout must be a number')
  })
})

it('an iterator that throws when it is ended does not end the process', async () => {
  const port = await listening()
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  socket.write('GET /big/iterator HTTP/1.1\r\nHost: h\r\n\r\n')
  await once(socket, 'data')
  socket.destroy()
  while (!closed.includes('iterator')) await setTimeout(1)
  expect((await fetch(`http://127.0.0.1:${port}/big/slow`)).status).toBe(200)
})

describe('the document below a prefix of Fastify', () => {
  const documented = async (prefixes: readonly string[], servers?: readonly { url: string }[]) => {
    const app = new Application({ modules: { index: { Big } }, ...(servers === undefined ? {} : { servers }) })
    const fastify = Fastify(fastifyOptions(app))
    for (const prefix of prefixes) await fastify.register(app.fastify, { prefix })
    await fastify.ready()
    closing.push(() => fastify.close())
    return app.openapi().servers
  }

  it('names the prefix, so that its paths lead somewhere', async () => {
    expect(await documented(['/api'])).toEqual([{ url: '/api' }])
    expect(await documented(['/api', '/v1'])).toEqual([{ url: '/api' }, { url: '/v1' }])
  })

  it('names what the application says, and nothing without a prefix', async () => {
    expect(await documented(['/api'], [{ url: 'https://a.example/api' }])).toEqual([{ url: 'https://a.example/api' }])
    expect(await documented([''])).toBeUndefined()
  })
})
