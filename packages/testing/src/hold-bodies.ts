import { once } from 'node:events'
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'

/** A request whose body does not end. */
interface HeldBody {
  readonly method: 'POST' | 'PUT'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}

/** The requests that occupy slots of the server. */
interface HeldBodies extends AsyncDisposable {
  readonly countAnswered: () => number
}

/**
 * Sends requests with bodies of unknown size to a server on this machine. Only the first byte of each body arrives.
 * @param origin such as `http://127.0.0.1:8080`
 */
export async function holdBodies(
  origin: string,
  count: number,
  { method, path, headers }: HeldBody,
): Promise<HeldBodies> {
  const { hostname, port } = new URL(origin)
  const all = { host: 'localhost', 'content-type': 'application/json', 'transfer-encoding': 'chunked', ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  const answered = new Set<Socket>()
  const sockets = Array.from({ length: count }, () => connect({ host: hostname, port: Number(port) }))
  for (const socket of sockets) {
    socket.on('error', () => {})
    socket.once('data', () => answered.add(socket))
    socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n1\r\n{\r\n`)
  }
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  return {
    countAnswered: () => answered.size,
    [Symbol.asyncDispose]: async () => {
      const closed = sockets.map((socket) => socket.closed || once(socket, 'close'))
      for (const socket of sockets) socket.destroy()
      await Promise.all(closed)
    },
  }
}

/** More bytes than a service reads. */
const HEADER_LENGTH = 16_384

interface LongHeadersAnswer {
  readonly status: number | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: unknown
}

/** Sends 16 KiB of headers to a server. The HTTP parser of the server refuses them, so `inject` cannot test this. */
export async function sendLongHeaders(url: string, method: string): Promise<LongHeadersAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  request(url, { method, headers: { 'x-long': 'a'.repeat(HEADER_LENGTH) } }, resolve)
    .on('error', reject)
    .end()
  const answer = await promise
  return { status: answer.statusCode, headers: answer.headers, body: JSON.parse(await text(answer)) }
}
