import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A server that takes whatever it is sent, and keeps it. */
export interface Recorder {
  readonly url: string
  /** Headers and bodies of all requests; bytes that are no text stand for themselves. */
  text(): string
  close(): Promise<void>
}

export async function startRecorder(): Promise<Recorder> {
  const taken: string[] = []
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString('latin1')
    taken.push(`${request.url} ${JSON.stringify(request.headers)}\n${body}\n`)
    response.writeHead(200).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    text: () => taken.join(''),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
