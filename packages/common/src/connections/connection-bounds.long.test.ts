import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { createNoopMeter, type Meter } from '@opentelemetry/api'
import pino from 'pino'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { plainVocabulary } from '../../test/plain-vocabulary.ts'
import { createServer } from '../server/create-server.ts'
import { httpTelemetry } from '../telemetry/http-telemetry.ts'
import type { ConnectionBounds } from './connection-bounds.ts'
import { countUnacknowledgedBytes, progressOf } from './slow-clients.ts'

const MIB = 1_024 * 1_024
/** More than both kernels buffer for a client that does not read. Together they buffer about ten megabytes at most. */
const LARGE = Buffer.alloc(24 * MIB, 'x')
const STALL_MS = 30_000
/** The minimum time between two reads of the kernel's table. The table is long if there are many connections. */
const ASK_SECONDS = 5

const cleanUps: (() => unknown)[] = []
afterEach(async () => {
  vi.useRealTimers()
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

/** Replaces the server's timers and the clock that measures clients. They advance only if the test advances them. */
function freezeTime(): void {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
}

/** Starts a server. Also returns its log, its counts and the closed connections. */
async function startServer(connections: Partial<ConnectionBounds> = {}) {
  const begun: string[] = []
  const ended: string[] = []
  const logged: Record<string, unknown>[] = []
  const cuts: unknown[] = []
  const sockets: Socket[] = []
  const app = createServer({
    logger: pino({ base: {} }, { write: (line) => rememberLine(logged, JSON.parse(line)) }),
    vocabulary: plainVocabulary,
    now: () => new Date(),
    bodyLimit: 100,
    handlerTimeoutMs: 600_000,
    meter: countCuts(cuts),
    connections,
  })
  cleanUps.push(() => app.close())
  app.server.on('connection', (socket: Socket) => sockets.push(socket))
  await app.register(httpTelemetry, { meter: createNoopMeter() })
  app.addHook('onRequest', async ({ url }) => {
    begun.push(url)
  })
  app.addHook('onSend', async ({ url }) => {
    ended.push(url)
  })
  app.get('/large', (_request, reply) => reply.send(LARGE))
  app.get('/small', () => ({ is: 'small' }))
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = new URL(app.listeningOrigin)
  const open = (bytes: string) => {
    const socket = connect({ port: Number(port), host: '127.0.0.1' })
    socket.on('error', () => {})
    socket.pause().write(bytes)
    cleanUps.push(() => socket.destroy())
    return socket
  }
  const waiting = () => sumOf(sockets.map(({ writableLength }) => writableLength))
  return { app, open, logged, cuts, sockets, begun, ended, waiting }
}

function rememberLine(logged: Record<string, unknown>[], line: Record<string, unknown>): void {
  if (!String(line.msg).startsWith('Server listening')) logged.push(line)
}

function countCuts(cuts: unknown[]): Meter {
  const meter = createNoopMeter()
  const createCounter: Meter['createCounter'] = (...definition) => ({
    ...meter.createCounter(...definition),
    add: (count, attributes) => {
      if (count > 0) cuts.push(attributes?.reason)
    },
  })
  return Object.assign(Object.create(meter), { createCounter })
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}

const ask = (url: string, more = '') => `GET ${url} HTTP/1.1\r\nHost: a\r\n${more}\r\n`

describe('a client that does not read its answer', () => {
  it('is cut after 30 s without a byte, and is counted and logged once, as a client that left', async () => {
    freezeTime()
    const { open, waiting, sockets, logged, cuts } = await startServer()
    open(ask('/large'))
    await expect.poll(waiting).toBeGreaterThan(0)
    vi.advanceTimersByTime(STALL_MS - 2_000)
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([false])
    vi.advanceTimersByTime(4_000)
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([true])
    expect(cuts).toEqual(['stalled'])
    await expect.poll(() => logged.length).toBe(2)
    expect(logged).toEqual([
      {
        level: 40,
        time: expect.any(Number),
        request_id: expect.any(String),
        method: 'GET',
        path: '/large',
        route: '/large',
        status: 499,
        duration_ms: expect.any(Number),
        msg: 'request',
      },
      {
        level: 40,
        time: expect.any(Number),
        stalled: 1,
        msg: 'connections were cut: their clients did not take what they had asked for',
      },
    ])
  })

  it('is cut even if it sends further requests, which does not show that it reads', async () => {
    freezeTime()
    const { open, waiting, sockets, cuts } = await startServer()
    const client = open(ask('/large'))
    await expect.poll(waiting).toBeGreaterThan(0)
    for (let second = 0; second < 32; second += 8) {
      client.write(ask('/small'))
      vi.advanceTimersByTime(8_000)
    }
    expect([sockets[0]?.destroyed, cuts]).toEqual([true, ['stalled']])
  })

  it('is cut when it keeps a connection open that was closed after a broken request', async () => {
    freezeTime()
    const { open, sockets, cuts } = await startServer()
    const client = open('nonsense\r\n\r\n')
    await expect.poll(() => sockets[0]?.writableFinished).toBe(true)
    vi.advanceTimersByTime(STALL_MS + 2_000)
    expect([client.destroyed, sockets[0]?.destroyed, cuts]).toEqual([false, true, ['stalled']])
  })
})

describe('a client that reads its answer', () => {
  it('is not cut, however slowly it reads: bytes that it reads from the kernel count', async () => {
    freezeTime()
    const { open, waiting, sockets, cuts } = await startServer()
    const client = open(ask('/large'))
    await expect.poll(waiting).toBeGreaterThan(0)
    const [socket] = sockets
    let sameSeconds = 0
    let longestSame = 0
    for (let second = 0; second < 50; second += ASK_SECONDS) {
      const before = socket && progressOf(socket)
      await readSome(client, ASK_SECONDS * 12 * 1_024)
      vi.advanceTimersByTime(ASK_SECONDS * 1_000)
      // The server has started to read the kernel's table. Two more reads, one after the other, end after it.
      for (let count = 0; count < 2; count += 1) await countUnacknowledgedBytes(sockets)
      sameSeconds = before === (socket && progressOf(socket)) ? sameSeconds + ASK_SECONDS : 0
      longestSame = Math.max(longestSame, sameSeconds)
    }
    expect([socket?.destroyed, cuts]).toEqual([false, []])
    // Without this, the test would pass even if the server never read the kernel's table.
    expect(longestSame).toBeGreaterThan(30)
  })

  it('is not cut while it is idle and nothing waits on either side', async () => {
    freezeTime()
    const { open, cuts } = await startServer()
    const client = open(ask('/small')).resume()
    await once(client, 'data')
    vi.advanceTimersByTime(STALL_MS + 20_000)
    client.write(ask('/small'))
    expect(String(await once(client, 'data'))).toContain('{"is":"small"}')
    expect(cuts).toEqual([])
  })

  it('gets an answer that is larger than all bytes that may wait', async () => {
    const { open, cuts } = await startServer({ waitingBytesMax: MIB })
    const answer = await text(open(ask('/large', 'Connection: close\r\n')).resume())
    expect(answer.length).toBeGreaterThan(LARGE.length)
    expect(cuts).toEqual([])
  })
})

async function readSome(client: Socket, bytes: number): Promise<void> {
  let rest = bytes
  while (rest > 0) {
    const chunk: Buffer | null = client.read(Math.min(rest, client.readableLength || 1))
    if (chunk === null) await once(client, 'readable')
    else rest -= chunk.length
  }
}

// ASVS 15.2.2
describe('clients with too many waiting bytes together', () => {
  it('are cut, the longest idle first, and the others are answered', async () => {
    freezeTime()
    const waitingBytesMax = 40 * MIB
    const { app, open, waiting, sockets, cuts, logged } = await startServer({ waitingBytesMax })
    for (let count = 1; count <= 10; count += 1) {
      open(ask('/large'))
      await expect.poll(() => sockets.length).toBe(count)
      await expect.poll(waiting).toBeGreaterThan(0)
      vi.advanceTimersByTime(1_000)
      expect(waiting()).toBeLessThanOrEqual(waitingBytesMax)
    }
    const destroyed = sockets.map((socket) => socket.destroyed)
    expect(destroyed).toEqual([...destroyed].sort().reverse())
    expect(destroyed.at(-1)).toBe(false)
    expect(cuts).toEqual(destroyed.filter(Boolean).map(() => 'crowded'))
    expect((await fetch(`${app.listeningOrigin}/small`)).status).toBe(200)
    await expect.poll(() => logged.filter(({ crowded }) => crowded !== undefined).length).toBe(1)
  })
})

describe('pipelined requests', () => {
  it('are handled one after the other, in order, and each is answered', async () => {
    const { open, begun, ended } = await startServer()
    const urls = Array.from({ length: 16 }, (_, at) => `/small?${at}`)
    const client = open(urls.map((url) => ask(url)).join('') + ask('/small?last', 'Connection: close\r\n'))
    const answers = await text(client.resume())
    expect(answers.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(17)
    expect([begun, ended]).toEqual([
      [...urls, '/small?last'],
      [...urls, '/small?last'],
    ])
  })

  it('wait until the client has read the earlier answers', async () => {
    const { open, begun, waiting } = await startServer()
    const client = open(ask('/large').repeat(2))
    await expect.poll(waiting).toBeGreaterThan(0)
    expect(begun).toEqual(['/large'])
    client.resume()
    await expect.poll(() => begun).toEqual(['/large', '/large'])
  })

  it('end the connection when there are too many of them, and none begins any more', async () => {
    const { open, begun, cuts } = await startServer()
    await once(open(ask('/large') + ask('/small').repeat(1_000)).resume(), 'close')
    expect([begun, cuts]).toEqual([['/large'], ['pipelined']])
  })

  it('are dropped when the client leaves before their turn', async () => {
    const { open, sockets, waiting, begun } = await startServer()
    const client = open(ask('/large') + ask('/small').repeat(5))
    await expect.poll(waiting).toBeGreaterThan(0)
    client.destroy()
    await expect.poll(() => sockets[0]?.closed).toBe(true)
    expect(begun).toEqual(['/large'])
  })
})

describe('progressOf', () => {
  it('rises when the kernel takes bytes, not when they are handed to a socket', async () => {
    const { open, waiting, sockets } = await startServer()
    const client = open(ask('/large'))
    await expect.poll(waiting).toBeGreaterThan(0)
    const [socket] = sockets
    if (socket === undefined) throw new Error('nobody has connected')
    const progress = progressOf(socket)
    const held = (await countUnacknowledgedBytes([socket])).get(socket)
    expect(progress).toBeLessThan(0)
    expect(held).toBeGreaterThan(0)
    expect(held).toBeLessThanOrEqual(LARGE.length)
    client.resume()
    await expect.poll(() => progressOf(socket)).toBeGreaterThan(LARGE.length)
    await expect.poll(async () => (await countUnacknowledgedBytes([socket])).get(socket)).toBe(0)
  })
})
