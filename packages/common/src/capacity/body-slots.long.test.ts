import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { createNoopMeter } from '@opentelemetry/api'
import pino from 'pino'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { plainVocabulary } from '../../test/plain-vocabulary.ts'
import { createServer } from '../server/create-server.ts'

const BODY_BYTES = 500_000
/** The number of slots. The byte limit fits this many bodies of the largest size. */
const SLOTS = 2
/** The time that a request waits for a slot, in milliseconds. It exceeds the duration of the other tests. */
const PATIENCE_MS = 2_000

const cleanUps: (() => unknown)[] = []
let begun: string[] = []
/** The URLs of requests whose bodies were read. */
let read: string[] = []
/** The promise that the handler of `/slow` waits for. */
let released = Promise.withResolvers<void>()
let port = 0

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
  begun = []
  read = []
  released = Promise.withResolvers()
  const app = createServer({
    logger: pino({ enabled: false }),
    vocabulary: plainVocabulary,
    now: () => new Date(),
    bodyLimit: BODY_BYTES,
    handlerTimeoutMs: 600_000,
    requestTimeoutMs: 0,
    meter: createNoopMeter(),
    connections: { bodyBytesMax: SLOTS * BODY_BYTES, bodyPatienceMs: PATIENCE_MS },
  })
  app.addHook('onRequest', async ({ url }) => {
    begun.push(url)
  })
  app.addHook('onRequest', async ({ headers }, reply) => {
    if (typeof headers['x-caller'] === 'string') await reply.countForCaller(headers['x-caller'])
  })
  app.addHook('preParsing', async ({ url }) => {
    read.push(url)
  })
  app.post('/kept', async () => ({}))
  app.post('/slow', () => released.promise)
  app.addContentTypeParser('text/csv', (_request, payload, done) => done(null, payload))
  app.post('/read-through', { preParsing: async (_request, reply) => reply.liftDeadline() }, async ({ body }) => body)
  await app.listen({ host: '127.0.0.1', port: 0 })
  port = Number(new URL(app.listeningOrigin).port)
  cleanUps.push(() => app.close())
})
afterEach(async () => {
  vi.useRealTimers()
  released.resolve()
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

let clients = 1
function nextClient(): string {
  clients += 1
  return `127.0.${1 + Math.floor(clients / 250)}.${1 + (clients % 250)}`
}

/** Sends a request with a body of spaces, by default from a new client address. Holds back the last `keptBack` bytes. */
function send(
  url: string,
  { bytes = BODY_BYTES, keptBack = 0, type = 'application/json', from = nextClient(), caller = '' } = {},
): Socket {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from })
  socket.on('error', () => {})
  cleanUps.push(() => socket.destroy())
  socket.write(`POST ${url} HTTP/1.1\r\nHost: a\r\nContent-Type: ${type}\r\nContent-Length: ${bytes}\r\n`)
  if (caller !== '') socket.write(`X-Caller: ${caller}\r\n`)
  socket.write('\r\n')
  if (bytes > keptBack) socket.write(`{}${' '.repeat(bytes - keptBack - 2)}`)
  return socket
}

const answerTo = async (socket: Socket) => String(await once(socket, 'data')).split('\r\n', 1)[0]

/** Returns the status line and the whole body of a refusal. */
async function refusalOf(socket: Socket): Promise<readonly [line: string | undefined, body: unknown]> {
  const [head = '', body = ''] = String(await once(socket, 'data')).split('\r\n\r\n')
  return [head.split('\r\n', 1)[0], JSON.parse(body)]
}

const BUSY = ['HTTP/1.1 503 Service Unavailable', { status: 503, code: 'busy', message: 'Busy' }]
const LATE = ['HTTP/1.1 408 Request Timeout', { status: 408, code: 'slow_body', message: 'Slow body' }]
const TOO_LARGE = ['HTTP/1.1 413 Payload Too Large', { status: 413, code: 'too_large', message: 'Too large' }]

/** Sends requests that occupy all slots. Each request stops one byte before the end of its body. */
async function takeAllSlots(): Promise<readonly Socket[]> {
  const sockets = Array.from({ length: SLOTS }, (_, at) => send(`/kept?${at}`, { keptBack: 1 }))
  await expect.poll(() => begun.length).toBe(SLOTS)
  return sockets
}

describe('requests with large bodies', () => {
  it('wait unread while all slots are taken, and begin when one is free', async () => {
    const [first] = await takeAllSlots()
    const next = send('/kept?next')
    expect(await answerTo(send('/kept?small', { bytes: 2 }))).toBe('HTTP/1.1 200 OK')
    expect(begun).not.toContain('/kept?next')
    first?.write(' ')
    expect(await answerTo(next)).toBe('HTTP/1.1 200 OK')
  })

  it('begin when a client with a slot leaves', async () => {
    const [first] = await takeAllSlots()
    const next = send('/kept?next')
    first?.destroy()
    expect(await answerTo(next)).toBe('HTTP/1.1 200 OK')
  })

  it('begin when bodies with a slot have hardly arrived for two seconds, and these are answered as late', async () => {
    const slow = await takeAllSlots()
    const late = Promise.all(slow.map(refusalOf))
    const waiting = [send('/kept?next'), send('/kept?next')]
    await expect.poll(() => probe()).toBe('HTTP/1.1 200 OK')
    vi.advanceTimersByTime(4_000)
    expect(await Promise.all(waiting.map(answerTo))).toEqual(['HTTP/1.1 200 OK', 'HTTP/1.1 200 OK'])
    expect(await late).toEqual(Array(SLOTS).fill(LATE))
  })

  it('do not give way while no request waits, while their bodies arrive, or after their bodies have arrived', async () => {
    const lasting = [send('/slow'), send('/kept?lasting', { keptBack: 400_000 })]
    await expect.poll(() => begun.length).toBe(SLOTS)
    vi.advanceTimersByTime(10_000)
    const next = send('/kept?next')
    for (let second = 0; second < 10; second += 1) {
      lasting[1]?.write(' '.repeat(40_000 - (second === 9 ? 1 : 0)))
      await expect.poll(() => probe()).toBe('HTTP/1.1 200 OK')
      vi.advanceTimersByTime(1_000)
    }
    expect(begun).not.toContain('/kept?next')
    lasting[1]?.write(' ')
    expect(await answerTo(next)).toBe('HTTP/1.1 200 OK')
    expect(lasting.map(({ destroyed }) => destroyed)).toEqual([false, false])
  })

  it('of one client leave room for requests of other clients', async () => {
    const [busy, other] = [nextClient(), nextClient()]
    for (let count = 0; count < 10; count += 1) send('/slow', { from: busy })
    await expect.poll(() => begun).toEqual(['/slow'])
    expect(await answerTo(send('/kept', { from: other }))).toBe('HTTP/1.1 200 OK')
    expect(begun).toEqual(['/slow', '/kept'])
  })

  it('of one caller leave room for another caller at the same address', async () => {
    const from = nextClient()
    const slow = Array.from({ length: 10 }, () => send('/kept?slow', { from, caller: 'ann', keptBack: 1 }))
    await expect.poll(() => begun.length).toBe(10)
    expect(await answerTo(send('/kept?other', { from, caller: 'bob' }))).toBe('HTTP/1.1 200 OK')
    expect(read).toEqual(['/kept?slow', '/kept?other'])
    // The bodies of one caller are read one after the other.
    slow[0]?.write(' ')
    await expect.poll(() => read).toEqual(['/kept?slow', '/kept?other', '/kept?slow'])
  })

  it('of one caller share one part, whatever addresses they come from', async () => {
    for (let count = 0; count < 4; count += 1) send('/kept?slow', { caller: 'ann', keptBack: 1 })
    await expect.poll(() => begun.length).toBe(4)
    expect(await answerTo(send('/kept?other'))).toBe('HTTP/1.1 200 OK')
    expect(read).toEqual(['/kept?slow', '/kept?other'])
  })

  it('of callers who are not known share the part of their address', async () => {
    const from = nextClient()
    for (let count = 0; count < 4; count += 1) send('/kept?slow', { from, keptBack: 1 })
    await expect.poll(() => begun).toEqual(['/kept?slow'])
    expect(await answerTo(send('/kept?other', { caller: 'bob' }))).toBe('HTTP/1.1 200 OK')
    expect(begun).toEqual(['/kept?slow', '/kept?other'])
  })

  it('of one caller are refused when their share does not become free in time, and close the connection', async () => {
    const from = nextClient()
    send('/kept?slow', { from, caller: 'ann', keptBack: 1 })
    await expect.poll(() => read).toEqual(['/kept?slow'])
    const answer = String(await once(send('/kept?next', { from, caller: 'ann' }), 'data'))
    expect(answer).toMatch(/^HTTP\/1.1 503 /)
    expect(answer).toContain('connection: close\r\n')
    expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).toEqual(BUSY[1])
    expect(read).toEqual(['/kept?slow'])
  })

  it('are refused when too many of them wait', async () => {
    await takeAllSlots()
    const waiting = Array.from({ length: 80 }, () => send('/kept?next'))
    const refused: unknown[] = []
    for (const socket of waiting) void refusalOf(socket).then((refusal) => refused.push(refusal))
    await expect.poll(() => refused).toEqual(Array(16).fill(BUSY))
  })

  it('are refused for the client with the most waiting requests, and for no other client', async () => {
    const busy = nextClient()
    await takeAllSlots()
    const crowd = Array.from({ length: 64 }, () => send('/kept?crowd', { from: busy }))
    await probe()
    const refused: unknown[] = []
    for (const socket of crowd) void refusalOf(socket).then((refusal) => refused.push(refusal))
    const other = answerTo(send('/kept?other'))
    await expect.poll(() => refused).toEqual([BUSY])
    vi.advanceTimersByTime(4_000)
    expect(await other).toBe('HTTP/1.1 200 OK')
  })

  it('are refused when no slot becomes free in time', async () => {
    await takeAllSlots()
    const answer = String(await once(send('/kept?next'), 'data'))
    expect(answer).toMatch(/^HTTP\/1.1 503 /)
    expect(answer).toContain('connection: close\r\n')
    expect(answer).toContain('retry-after: 1\r\n')
    expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).toEqual({ status: 503, code: 'busy', message: 'Busy' })
  })

  it('get no slot when they are refused for their size', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout', 'performance'] })
    await takeAllSlots()
    const answer = refusalOf(send('/kept', { bytes: BODY_BYTES + 1, keptBack: BODY_BYTES + 1 }))
    await expect.poll(() => begun).toContain('/kept')
    // The refusal waits for the rest of the body, but only for a few seconds.
    vi.advanceTimersByTime(5_000)
    expect(await answer).toEqual(TOO_LARGE)
  })

  it('give up their slot when the handler lifts its deadline', async () => {
    const through = Array.from({ length: SLOTS }, () => send('/read-through', { keptBack: 1, type: 'text/csv' }))
    await expect.poll(() => begun.length).toBe(SLOTS)
    expect(await answerTo(send('/kept'))).toBe('HTTP/1.1 200 OK')
    expect(through.map(({ destroyed }) => destroyed)).toEqual([false, false])
  })
})

/** Returns the status line of a small request. The server has then read everything that was sent before. */
async function probe(): Promise<string | undefined> {
  return answerTo(send('/kept?small', { bytes: 2 }))
}
