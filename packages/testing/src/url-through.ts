import { once } from 'node:events'
import type { Server } from 'node:net'
import { portOf } from './free-port.ts'

/**
 * Opens a listener on loopback in front of a server. @returns the URL of the server through this listener
 * @throws Error when the server does not listen on a port
 */
export async function urlThrough(listener: Server, serverUrl: string): Promise<string> {
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const url = Object.assign(new URL(serverUrl), { hostname: '127.0.0.1', port: String(portOf(listener)) })
  url.searchParams.delete('host')
  return url.href
}
