import { Agent, type ClientRequest, request } from 'node:http'
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib'
import type { WireRequest } from './wire.ts'

/** What a service answered, read to its end. */
export interface Answer {
  readonly status: number
  /** Names in lower case; what came more than once is joined by a comma. */
  readonly headers: ReadonlyMap<string, string>
  readonly text: string
}

/** Sends requests over a few connections that are kept. */
export interface Sender {
  /** @throws Error when no whole answer comes in time, or one that cannot be read */
  send(wire: WireRequest): Promise<Answer>
  close(): void
}

const ANSWER_MS = 40_000

/** Makes a sender to a service, with connections that are kept alive. */
export function createSender(url: string): Sender {
  const agent = new Agent({ keepAlive: true, maxSockets: 32 })
  const { hostname, port } = new URL(url)
  const send = (wire: WireRequest): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const outgoing = request({ agent, hostname, port, method: wire.method, path: wire.target, timeout: ANSWER_MS })
      for (const [name, value] of wire.headers) outgoing.appendHeader(name, value)
      outgoing.once('timeout', () => outgoing.destroy(new Error(`no answer within ${ANSWER_MS} ms`)))
      outgoing.once('error', (error) => (isClosedMeanwhile(outgoing, error) ? resolve(send(wire)) : reject(error)))
      outgoing.once('response', (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.once('error', reject)
        response.once('end', () => {
          const headers = new Map<string, string>()
          for (const [name, values] of Object.entries(response.headersDistinct)) {
            headers.set(name, (values ?? []).join(', '))
          }
          try {
            const text = unpack(Buffer.concat(chunks), headers.get('content-encoding'))
            resolve({ status: response.statusCode ?? 0, headers, text })
          } catch (error) {
            reject(error)
          }
        })
      })
      if (wire.body !== undefined) outgoing.setHeader('content-length', wire.body.length)
      outgoing.end(wire.body)
    })
  return { send, close: () => agent.destroy() }
}

const unpackers = new Map([
  ['gzip', gunzipSync],
  ['deflate', inflateSync],
  ['br', brotliDecompressSync],
])

/** The text of a body that a request may have asked to be compressed. @throws Error when it is not what it says */
function unpack(bytes: Buffer, coding = ''): string {
  const unpacker = bytes.length > 0 ? unpackers.get(coding) : undefined
  return (unpacker ? unpacker(bytes) : bytes).toString()
}

/** The server may just have closed a kept connection. Then the request is sent again. */
function isClosedMeanwhile({ reusedSocket }: ClientRequest, error: Error): boolean {
  return reusedSocket && 'code' in error && /^(ECONNRESET|EPIPE)$/.test(String(error.code))
}
