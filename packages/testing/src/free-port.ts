import { randomInt } from 'node:crypto'
import type { Server } from 'node:net'
import { tryPort } from '@trestle/stack/processes/free-ports.ts'

/** Below the ports that systems give to clients: 32768 of Linux, 49152 of macOS and Windows. */
const PORTS = { min: 10_000, end: 32_768 }
const ATTEMPTS_MAX = 100

/**
 * A port of 127.0.0.1 that is free at this moment. A client of another test cannot take it before a server listens there, because
 * the system gives clients higher ports.
 * @throws Error with the last error code when no port can be opened
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

/** The TCP port of a server. @throws Error when the server does not listen on one */
export function portOf(server: Server): number {
  const address = server.address()
  if (typeof address === 'string' || address === null) throw new Error('the server has no port')
  return address.port
}
