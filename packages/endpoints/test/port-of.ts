import type { AddressInfo } from 'node:net'

/** The TCP port of a server. @throws Error when the server does not listen on one */
export function portOf(server: { address(): AddressInfo | string | null }): number {
  const address = server.address()
  if (typeof address === 'string' || address === null) throw new Error('the server has no port')
  return address.port
}
