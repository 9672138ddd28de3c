import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { findInternals, findSecrets } from './leaks.ts'
import type { RawRequest } from './raw-requests.ts'

const ANSWER_MS = 20_000
/** How many connections send a part of a request and then wait. */
const HALF_OPEN = 50

/**
 * Sends bytes, and reads until the server closes. After less than a whole request it ends its side of the connection. After a
 * whole request it does not, since Node would then drop the answer.
 */
export function exchangeBytes(url: string, { bytes, isWhole }: RawRequest): Promise<string> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
    const text = () => Buffer.concat(chunks).toString()
    const late = setTimeout(() => {
      socket.destroy()
      reject(
        new Error(`the connection was left open for ${ANSWER_MS} ms after ${JSON.stringify(text().slice(0, 200))}`),
      )
    }, ANSWER_MS)
    const end = () => {
      clearTimeout(late)
      socket.destroy()
      resolve(text())
    }
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.once('end', end)
    // A server may close while the rest is being sent.
    socket.once('error', end)
    if (isWhole) socket.write(bytes)
    else socket.end(bytes)
  })
}

/** Names what is wrong with the answers to such bytes. @param allowed statuses above 499 that a request line may get */
export function judgeRaw(
  { isWhole }: RawRequest,
  text: string,
  secrets: ReadonlyMap<string, string>,
): readonly string[] {
  const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
  const [head = '', body = ''] = text.split('\r\n\r\n', 2)
  const isJson = /^content-type: application\/json/im.test(head)
  return [
    ...(isWhole && statuses.length === 0 ? ['closes the connection without an answer'] : []),
    // An unknown method may get 501, and a repeat would not help.
    ...statuses.filter((status) => status >= 500 && status !== 501).map((status) => `answers ${status}`),
    ...(isJson && statuses.length === 1 && !isChunked(head) && !parses(body) ? ['answers with invalid JSON'] : []),
    ...((statuses[0] ?? 0) >= 400 && !/^content-type: (application\/json|text\/html)/im.test(head)
      ? [`answers ${statuses[0]} outside the envelope`]
      : []),
    ...findInternals(text),
    ...findSecrets(text, secrets),
  ]
}

function isChunked(head: string): boolean {
  return /^transfer-encoding: chunked/im.test(head)
}

function parses(body: string): boolean {
  try {
    return body === '' || JSON.parse(body) !== undefined
  } catch {
    return false
  }
}

/** Opens connections that never finish a request, calls `isAlive` in the meantime, and closes them. */
export async function holdOpen(url: string, isAlive: () => Promise<boolean>): Promise<readonly string[]> {
  const { hostname, port } = new URL(url)
  const beginnings = ['', 'GET / HTTP/1.1\r\n', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{']
  const sockets = Array.from({ length: HALF_OPEN }, (_, at) => {
    const socket = connect({ host: hostname, port: Number(port) })
    socket.on('error', () => undefined)
    socket.write(beginnings[at % beginnings.length] ?? '')
    return socket
  })
  await delay(100)
  const isFine = await isAlive()
  for (const socket of sockets) socket.resetAndDestroy()
  return isFine ? [] : ['does not answer while connections are half open']
}
