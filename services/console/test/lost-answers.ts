import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestBrowser } from './browser.ts'
import { openTestConsole } from './console-app.ts'
import type { RunningService } from './services.ts'

/** A way to a service that loses answers, as a network does. */
export interface LossyWay {
  readonly name: RunningService['name']
  readonly url: string
  /** Loses the answers to all changes from now on, or to `all` calls, or to none. The service still carries out the calls. */
  readonly loseAnswers: (isLosing: boolean | 'all') => void
  readonly close: () => void
}

export async function openLossyWay({ name, url }: RunningService): Promise<LossyWay> {
  let isLosing: boolean | 'all' = false
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
    if (isLosing === 'all' || (isLosing && method !== 'GET')) return response.destroy()
    const kept = ['content-type', 'etag'].map((header) => [header, answer.headers.get(header) ?? ''] as const)
    response.writeHead(answer.status, Object.fromEntries(kept.filter(([, value]) => value !== ''))).end(body)
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

/** A console whose way to a service loses answers. */
export interface LossyConsole extends Pick<LossyWay, 'loseAnswers'> {
  /** A browser with the session of the given browser. */
  readonly browser: TestBrowser
  readonly close: () => Promise<void>
}

/** Opens a second console for the session of a browser, over auth and a service whose answers may be lost. */
export async function openLossyConsole(
  auth: RunningService,
  service: RunningService,
  { cookies }: Pick<TestBrowser, 'cookies'>,
): Promise<LossyConsole> {
  const way = await openLossyWay(service)
  const test = await openTestConsole([auth, way])
  const browser = test.browser()
  for (const [name, value] of cookies) browser.cookies.set(name, value)
  const close = async () => {
    await test.close()
    way.close()
  }
  return { browser, loseAnswers: way.loseAnswers, close }
}
