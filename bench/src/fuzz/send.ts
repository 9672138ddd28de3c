import { Agent, type ClientRequest, request } from 'node:http'
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib'
import type { WireRequest } from './wire.ts'

export interface Answer {
  readonly status: number
  /** Names in lower case. Values of a repeated header are joined by a comma. */
  readonly headers: ReadonlyMap<string, string>
  readonly text: string
}

/** Sends requests over a few connections that are kept alive. */
export interface Sender {
  /** @throws Error when no whole and valid answer comes in time */
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
      outgoing.once('error', (error) => (isClosedByServer(outgoing, error) ? resolve(send(wire)) : reject(error)))
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

/**
 * The text of a body that may be compressed, because a request may have asked for that.
 * @throws Error when the body is not in the encoding that its header says
 */
function unpack(bytes: Buffer, coding = ''): string {
  const unpacker = bytes.length > 0 ? unpackers.get(coding) : undefined
  return (unpacker ? unpacker(bytes) : bytes).toString()
}

/**
 * The server may just have closed a connection that was kept alive. Then the request is sent again. It is not sent again after a
 * timeout: the server has had the request, so the missing answer is a finding.
 */
function isClosedByServer({ reusedSocket }: ClientRequest, error: Error): boolean {
  return reusedSocket && 'code' in error && /^(ECONNRESET|EPIPE)$/.test(String(error.code))
}
