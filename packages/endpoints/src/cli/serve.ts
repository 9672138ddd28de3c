import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Address, formatAddress } from './address.ts'

const DRAIN_MS = 30_000
const SWEEP_MS = 100

/** Listens. Resolves with the real address. @throws Error when it cannot, for instance when the port is in use. */
export async function listen(listener: RequestListener, { host, port }: Address): Promise<[Server, string]> {
  const server = createServer(listener)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const { port: real } = server.address() as AddressInfo
  return [server, `http://${formatAddress({ host, port: real })}`]
}

/** Stops taking connections, closes idle ones at once, and waits for requests that have begun: 30 s at most. */
export async function drain(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve))
  // A connection is idle only after its request: closed at the latest a moment later.
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS)
  const deadline = setTimeout(() => server.closeAllConnections(), DRAIN_MS)
  server.closeIdleConnections()
  await closed
  clearInterval(sweep)
  clearTimeout(deadline)
}
