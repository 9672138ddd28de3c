import { createServer, type IncomingMessage } from 'node:http'
import { portOf } from './free-port.ts'

export interface StubRequest {
  readonly method: string
  /** Path with query. */
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** The answer of a stub peer. Its status is 200 and its type JSON unless others are given. */
export interface StubAnswer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** A string and bytes are sent as they are, anything else as JSON. */
  readonly body?: unknown
}

/** An HTTP server that plays a peer: a gateway, a captcha service, an identity provider. */
export interface StubProvider {
  readonly url: string
  readonly requests: readonly StubRequest[]
  close(): Promise<void>
}

/**
 * Starts a peer on a loopback port, a free one unless it is given. `answer` decides each answer; `undefined` leaves the request
 * without one.
 * @throws Error when the server does not listen on a port
 */
export async function startStubProvider(
  answer: (request: StubRequest) => StubAnswer | undefined | Promise<StubAnswer | undefined>,
  port = 0,
): Promise<StubProvider> {
  const requests: StubRequest[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', async () => {
      const seen: StubRequest = {
        method: request.method ?? '',
        url: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(chunks).toString('utf8'),
      }
      requests.push(seen)
      const reply = await answer(seen)
      if (!reply) return
      const { body = null } = reply
      const text = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
      response.writeHead(reply.status ?? 200, { 'content-type': 'application/json', ...reply.headers }).end(text)
    })
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', () => resolve()))
  return {
    url: `http://127.0.0.1:${portOf(server)}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
