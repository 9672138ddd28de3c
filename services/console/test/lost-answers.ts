import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { RunningService } from './services.ts'

/** A way to a service that loses answers, as a network does. */
export interface LossyWay {
  readonly name: RunningService['name']
  readonly url: string
  /** Loses the answers to all changes from now on, or no more. The service makes the changes all the same. */
  readonly loseAnswers: (isLosing: boolean) => void
  readonly close: () => void
}

/** Opens a way to a service. */
export async function openLossyWay({ name, url }: RunningService): Promise<LossyWay> {
  let isLosing = false
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(Buffer.from(piece))
    const { host: _host, connection: _connection, ...given } = request.headers
    const method = request.method ?? 'GET'
    const answer = await fetch(url + request.url, {
      method,
      headers: Object.entries(given).map(([key, value]) => [key, String(value)]),
      ...(method === 'GET' ? {} : { body: Buffer.concat(pieces) }),
    })
    const body = Buffer.from(await answer.arrayBuffer())
    if (isLosing && method !== 'GET') return response.destroy()
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' }).end(body)
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  return {
    name,
    url: `http://127.0.0.1:${port}`,
    loseAnswers: (losing) => {
      isLosing = losing
    },
    close: () => server.close(),
  }
}
