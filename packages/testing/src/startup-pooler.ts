import { connect, createServer, type Socket } from 'node:net'
import { urlThrough } from './cut-wire.ts'

/** A pooler that does not pass the settings of clients on. */
export interface StartupPooler {
  /** The URL of the server through this pooler. */
  readonly url: string
  close(): void
}

/**
 * Treats connections with settings as PgBouncer does: it refuses them, or drops the settings that `ignore_startup_parameters`
 * names.
 * @throws Error when the server does not listen on a port
 */
export async function openStartupPooler(serverUrl: string, does: 'drop' | 'refuse'): Promise<StartupPooler> {
  const begin = { drop: passWithoutOptions, refuse }[does]
  const listener = createServer((client) => {
    client.on('error', () => {})
    client.once('data', (startup: Buffer) => begin(client, startup, new URL(serverUrl)))
  })
  return { url: await urlThrough(listener, serverUrl), close: () => listener.close() }
}

/**
 * Passes a StartupMessage on without its options. It holds its length, the version, names and values.
 * @see https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-STARTUPMESSAGE
 */
function passWithoutOptions(client: Socket, startup: Buffer, { hostname, port }: URL): void {
  const parameters = Buffer.from(startup.toString('latin1', 8).replace(/options\0[^\0]*\0/, ''), 'latin1')
  const head = Buffer.from(startup.subarray(0, 8))
  head.writeInt32BE(head.length + parameters.length)
  const server = connect(Number(port || 5432), hostname)
  server.on('error', () => client.destroy())
  server.write(Buffer.concat([head, parameters]))
  client.pipe(server).pipe(client)
}

/** @see https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-ERRORRESPONSE */
function refuse(client: Socket, startup: Buffer, server: URL): void {
  if (!startup.includes('options\0')) {
    passWithoutOptions(client, startup, server)
    return
  }
  const fields = Buffer.from('SFATAL\0C08P01\0Munsupported startup parameter: options\0\0')
  const head = Buffer.from('E\0\0\0\0')
  head.writeInt32BE(4 + fields.length, 1)
  client.end(Buffer.concat([head, fields]))
}
