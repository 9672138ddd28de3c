import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

/** Below the ports that systems give to clients: 32768 of Linux, 49152 of macOS and Windows. */
const PORTS = { min: 10_000, end: 32_768 }

/**
 * A port of 127.0.0.1 that is free at this moment. A client of another test cannot take it before a server listens there, because
 * the system gives clients higher ports.
 */
export async function freePort(): Promise<number> {
  const port = randomInt(PORTS.min, PORTS.end)
  const probe = createServer()
  try {
    await once(probe.listen(port, '127.0.0.1'), 'listening')
  } catch {
    return freePort()
  }
  probe.close()
  await once(probe, 'close')
  return port
}

/** The TCP port of a server. @throws Error when the server does not listen on one */
export function portOf(server: Server): number {
  const address = server.address()
  if (typeof address === 'string' || address === null) throw new Error('the server has no port')
  return address.port
}
