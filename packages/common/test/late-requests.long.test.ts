import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import pino from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createServer, type Server } from '../src/server/create-server.ts'
import { plainVocabulary } from './plain-vocabulary.ts'

const HEAD_MS = 300
const REQUEST_MS = 600
const DRIP_MS = 20
const options = {
  logger: pino({ enabled: false }),
  vocabulary: plainVocabulary,
  now: () => new Date(),
  bodyLimit: 1_000,
}

let app: Server
const cleanUps: (() => void)[] = []
beforeAll(async () => {
  app = createServer({
    ...options,
    handlerTimeoutMs: 60_000,
    requestTimeoutMs: REQUEST_MS,
    connections: { headMs: HEAD_MS, lateCheckMs: 20 },
  })
  app.post('/things', async () => ({}))
  app.get('/things', async () => ({ is: 'answered' }))
  await app.listen({ host: '127.0.0.1', port: 0 })
})
afterAll(() => app.close())
afterEach(() => {
  for (const cleanUp of cleanUps.splice(0)) cleanUp()
})

function open(bytes: string): Socket {
  const socket = connect({ port: Number(new URL(app.listeningOrigin).port), host: '127.0.0.1', allowHalfOpen: true })
  socket.on('error', () => {})
  cleanUps.push(() => socket.destroy())
  socket.write(bytes)
  return socket
}

/** Sends a byte at regular intervals until the test ends. */
function drip(socket: Socket): void {
  const timer = setInterval(() => socket.write('x'), DRIP_MS)
  cleanUps.push(() => clearInterval(timer))
}

/** Returns everything that the server sends on the connections, in the order in which it closes them. */
async function readInOrder(sockets: Readonly<Record<string, Socket>>): Promise<readonly (readonly [string, string])[]> {
  const said: [string, string][] = []
  const read = async ([name, socket]: [string, Socket]) => void said.push([name, await text(socket)])
  await Promise.all(Object.entries(sockets).map(read))
  return said
}

const LATE = /^HTTP\/1\.1 408 Request Timeout\r\n.*connection: close\r\n\r\n\{"status":408,"code":"malformed",.*\}$/s
const HEAD = 'POST /things HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n'

describe('a connection whose request head does not arrive', () => {
  it.each([
    ['says nothing', ''],
    ['stops in its first line', 'GET /thi'],
    ['stops in a header', 'GET /things HTTP/1.1\r\nHost: a\r\nX-Filler: '],
  ])('408: is closed when its client %s', async (_, bytes) => {
    expect(await text(open(bytes))).toMatch(LATE)
  })

  it('408: is closed before a late body when bytes of the head still arrive', async () => {
    const [body, head] = [open(`${HEAD}{`), open('GET /things HTTP/1.1\r\nHost: a\r\nX-Filler: ')]
    drip(head)
    const late = expect.stringMatching(LATE)
    expect(await readInOrder({ body, head })).toEqual([
      ['head', late],
      ['body', late],
    ])
  })
})

describe('a connection whose request body does not end', () => {
  it('408: is closed when its client stops', async () => {
    expect(await text(open(`${HEAD}{`))).toMatch(LATE)
  })

  it('408: is closed also when bytes of the body still arrive', async () => {
    const socket = open(`${HEAD}{`)
    drip(socket)
    expect(await text(socket)).toMatch(LATE)
  })
})

it('answers a client that has closed its side after a whole request', async () => {
  const socket = open('')
  socket.end('GET /things HTTP/1.1\r\nHost: a\r\n\r\n')
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 OK\r\n.*\{"is":"answered"\}$/s)
})

it('allows ten seconds for a head, and for a body as long as its handler may take in addition', async () => {
  const { server } = createServer({ ...options, handlerTimeoutMs: 15_000 })
  expect([server.headersTimeout, server.requestTimeout]).toEqual([10_000, 25_000])
})
