import { createServer, type Server } from 'node:net'

/** A port of 127.0.0.1 that is free at this moment. */
export function freePort(): Promise<number> {
  const probe = createServer()
  return new Promise((resolve, reject) => {
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const port = portOf(probe)
      probe.close(() => resolve(port))
    })
  })
}

/** The TCP port of a server. @throws Error when the server does not listen on one */
export function portOf(server: Server): number {
  const address = server.address()
  if (typeof address === 'string' || address === null) throw new Error('the server has no port')
  return address.port
}
