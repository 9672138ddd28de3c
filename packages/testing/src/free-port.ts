import { randomInt } from 'node:crypto'
import type { Server } from 'node:net'
import { tryPort } from '@trestle/stack/processes/free-ports.ts'

/** Ports below the ranges for outgoing connections, which begin at 32768 on Linux and at 49152 on macOS and Windows. */
const PORTS = { min: 10_000, end: 32_768 }
const ATTEMPTS_MAX = 100

/**
 * Returns a port of 127.0.0.1 that is currently free. A client of another test cannot take it before a server listens there,
 * because the system assigns higher ports to clients.
 * @throws Error with the last error code if no port can be opened
 */
export async function freePort(): Promise<number> {
  let code: string | undefined
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    const port = randomInt(PORTS.min, PORTS.end)
    code = await tryPort({ host: '127.0.0.1', port })
    if (code === undefined) return port
  }
  throw new Error(`no free port found: ${code}`)
}

/** Returns the TCP port of a server. @throws Error if the server does not listen on a port */
export function portOf(server: Server): number {
  const address = server.address()
  if (typeof address === 'string' || address === null) throw new Error('the server has no port')
  return address.port
}
