import { EventEmitter, once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import Fastify from 'fastify'
import { afterEach, describe, expect, it } from 'vitest'
import { Application, Controller, fastifyOptions } from '../src/endpoints.ts'
import { portOf } from './start.ts'

const WRITE_TIMEOUT_MS = 200
const MANY = 32 * 1024 * 1024
/** `ended`: an iterator was closed. `quiet`: the connection was idle for the duration of the write timeout. */
const events = new EventEmitter()

/** An iterator that throws when it is closed. */
class Stubborn implements AsyncIterable<string> {
  [Symbol.asyncIterator](): AsyncIterator<string> {
    return {
      next: async () => ({ done: false, value: 'x'.repeat(64 * 1024) }),
      return: () => {
        events.emit('ended')
        throw new Error('it will not end')
      },
    }
  }
}

class Big extends Controller {
  GET() {
    return 'x'.repeat(MANY)
  }

  GET_small() {
    return 'small'
  }

  async *GET_stream() {
    for (;;) yield 'x'.repeat(64 * 1024)
  }

  /** Here the connection is idle because of the slow source, not because of the client. */
  async *GET_slow() {
    const quiet = once(events, 'quiet')
    yield 1
    await quiet
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

async function listening(writeTimeoutMs?: number): Promise<{ readonly server: Server; readonly port: number }> {
  const app = await new Application({
    modules: { index: { Big } },
    ...(writeTimeoutMs === undefined ? {} : { writeTimeoutMs }),
  }).ready()
  const server = createServer(app.listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return { server, port: portOf(server) }
}

/** Sends a request and reads nothing of the answer. Returns both ends of the connection. */
async function asking(
  { server, port }: Awaited<ReturnType<typeof listening>>,
  path: string,
): Promise<[Socket, ServerResponse]> {
  const socket = connect(port, '127.0.0.1').pause()
  socket.on('error', () => {})
  const asked = once(server, 'request')
  socket.write(`GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`)
  const [, response] = await asked
  return [socket, response]
}

describe('a client that reads nothing of its answer', () => {
  it.each([['/big'], ['/big/stream']])('cuts the answer of %s off', async (path) => {
    const [socket, response] = await asking(await listening(WRITE_TIMEOUT_MS), path)
    await once(response, 'close')
    let size = 0
    socket.on('data', (data) => {
      size += data.length
    })
    socket.resume()
    await once(socket, 'close')
    expect(size).toBeLessThan(MANY)
  })

  it('is not disconnected while it reads some', async () => {
    // This timeout is much longer than the delay between two reads on a busy machine.
    const served = await listening(5 * WRITE_TIMEOUT_MS)
    const [patient, taken] = await asking(served, '/big/stream')
    patient.resume()
    const [, left] = await asking(served, '/big/stream')
    // This client started later and reads nothing. After its timeout, the first client is past the timeout too.
    await once(left, 'close')
    expect(taken.destroyed).toBe(false)
  })

  it('is not disconnected when the source is slow', async () => {
    const { server, port } = await listening(WRITE_TIMEOUT_MS)
    server.once('request', (_request, response) => response.once('timeout', () => events.emit('quiet')))
    expect(await (await fetch(`http://127.0.0.1:${port}/big/slow`)).text()).toBe('[1,2]')
  })

  it('refuses a writeTimeoutMs that is no number', () => {
    expect(() => new Application({ writeTimeoutMs: Number.NaN })).toThrow('writeTimeoutMs must be a number')
  })
})

it('an iterator that throws when it is closed does not end the process', async () => {
  const served = await listening()
  const [socket] = await asking(served, '/big/iterator')
  const ended = once(events, 'ended')
  socket.destroy()
  await ended
  const answer = await fetch(`http://127.0.0.1:${served.port}/big/small`)
  expect([answer.status, await answer.json()]).toEqual([200, 'small'])
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

  it('names the prefix, so that its paths exist', async () => {
    expect(await documented(['/api'])).toEqual([{ url: '/api' }])
    expect(await documented(['/api', '/v1'])).toEqual([{ url: '/api' }, { url: '/v1' }])
  })

  it('names the servers of the application, and none without a prefix', async () => {
    expect(await documented(['/api'], [{ url: 'https://a.example/api' }])).toEqual([{ url: 'https://a.example/api' }])
    expect(await documented([''])).toBeUndefined()
  })
})
