import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'

/** A server of the stack that is reachable only from this machine. */
export interface LocalServer {
  readonly port: number
  close(): Promise<void>
}

/** Starts a web server on 127.0.0.1. Port 0 chooses a free port. */
export async function startLocalServer(port: number, listener: RequestListener): Promise<LocalServer> {
  const server = createServer(listener)
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  return {
    port: typeof address === 'object' && address ? address.port : port,
    close: async () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** Whether the Host header names this machine. Otherwise a foreign site could read responses by DNS rebinding. */
export function isForThisMachine({ headers }: IncomingMessage): boolean {
  return /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i.test(headers.host ?? '')
}
