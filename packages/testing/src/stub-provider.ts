import { createServer, type IncomingMessage } from 'node:http'
import { portOf } from './free-port.ts'

export interface StubRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** The answer of a stub server. The default status is 200, and the default type is JSON. */
export interface StubAnswer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** A string or bytes are sent unchanged. Any other value is sent as JSON. */
  readonly body?: unknown
}

/** An HTTP server that stands in for an external server: a gateway, a captcha service, an identity provider. */
export interface StubProvider {
  readonly url: string
  readonly requests: readonly StubRequest[]
  close(): Promise<void>
}

/**
 * Starts a stub server on a loopback port. The default is a free port. `answer` decides each answer. If it returns `undefined`,
 * the request gets no answer.
 * @throws Error if the server does not listen on a port
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
