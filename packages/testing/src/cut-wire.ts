import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { portOf } from './free-port.ts'

/** A proxy to a PostgreSQL server whose connections can be cut. */
interface Wire {
  readonly url: string
  readonly statements: () => number
  /** The numbers of the statements that commit a transaction. */
  readonly commits: () => readonly number[]
  /** Resolves when the server has ended all cut connections. Then it runs none of their statements and holds no lock. */
  readonly ended: Promise<void>
  close(): Promise<void>
}

export interface SentStatement {
  /** The number of the statement, starting at 1, across all connections. */
  readonly nth: number
  readonly text: string
}

/** Where to cut at a statement. After `cut behind`, the server runs the statement, but its answer is lost. */
export type StatementFate = 'passes' | 'cut before' | 'cut behind'

/**
 * Opens a proxy to a server. At a given statement, the proxy permanently cuts all connections at the same time, as if the client
 * process were killed. @param cutAt the number of the statement behind which to cut, or a function that decides for each
 * statement. If it is `undefined`, the connections are never cut. @throws Error if the server does not listen on a port
 */
export async function openWire(
  serverUrl: string,
  cutAt?: number | ((statement: SentStatement) => StatementFate),
): Promise<Wire> {
  const { hostname, port } = new URL(serverUrl)
  const sockets = new Set<Socket>()
  const servers = new Set<Socket>()
  const { promise: ended, resolve: resolveEnded } = Promise.withResolvers<void>()
  const commits: number[] = []
  let statements = 0
  let isCut = false
  const cut = (): void => {
    isCut = true
    for (const socket of sockets) socket.end()
  }
  const judge =
    typeof cutAt === 'function' ? cutAt : ({ nth }: SentStatement) => (nth === cutAt ? 'cut behind' : 'passes')
  const listener = createServer((client) => {
    if (isCut) return client.destroy()
    const server = connect(Number(port || 5432), hostname)
    const read = createReader()
    servers.add(server)
    client.on('data', (data: Buffer) => {
      if (isCut) return
      const fates = read(data).map((text) => {
        statements += 1
        if (/^commit$/i.test(text)) commits.push(statements)
        return judge({ nth: statements, text })
      })
      const fate = fates.find((one) => one !== 'passes')
      if (fate !== 'cut before') server.write(data)
      if (fate !== undefined) cut()
    })
    server.on('close', () => {
      servers.delete(server)
      if (isCut && servers.size === 0) resolveEnded()
    })
    server.on('data', (data) => {
      // Answers of the server after the cut are lost.
      if (!isCut) client.write(data)
    })
    join(client, server, sockets)
  })
  const url = await urlThrough(listener, serverUrl)
  return {
    url,
    statements: () => statements,
    commits: () => commits,
    ended,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      listener.close()
      await once(listener, 'close')
    },
  }
}

/**
 * Ends each of two sockets when the other socket ends, and keeps the open sockets in a set. The server's socket stays open until
 * the server ends it.
 */
function join(client: Socket, server: Socket, open: Set<Socket>): void {
  for (const socket of [client, server]) {
    open.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => open.delete(socket))
  }
  client.on('end', () => server.end())
  client.on('close', () => server.end())
  server.on('end', () => client.end())
  server.on('close', () => client.destroySoon())
}

/**
 * Returns a function that extracts the texts of a client's statements, however the bytes are split. Each message consists of a
 * type, which the first message lacks, a length that includes itself, and content.
 * @see https://www.postgresql.org/docs/current/protocol-message-formats.html
 */
function createReader(): (data: Buffer) => readonly string[] {
  const prepared = new Map<string, string>()
  let bound = ''
  let rest = Buffer.alloc(0)
  let typeBytes = 0
  return (data) => {
    const statements: string[] = []
    rest = Buffer.concat([rest, data])
    while (rest.length >= typeBytes + 4) {
      const length = typeBytes + rest.readInt32BE(typeBytes)
      if (rest.length < length) break
      const [first = '', second = ''] = rest.toString('latin1', typeBytes + 4, length).split('\0', 2)
      const type = typeBytes > 0 ? rest.toString('latin1', 0, 1) : ''
      if (type === 'Q') statements.push(first)
      if (type === 'P') prepared.set(first, second)
      if (type === 'B') bound = prepared.get(second) ?? ''
      if (type === 'E') statements.push(bound)
      rest = rest.subarray(length)
      typeBytes = 1
    }
    return statements
  }
}

/**
 * Opens a listener on loopback in front of a server. @returns the URL of the server through this listener. @throws Error if the
 * server does not listen on a port
 */
export async function urlThrough(listener: Server, serverUrl: string): Promise<string> {
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const url = Object.assign(new URL(serverUrl), { hostname: '127.0.0.1', port: String(portOf(listener)) })
  url.searchParams.delete('host')
  return url.href
}

/** A pooler that does not forward the settings of clients. */
interface StartupPooler {
  readonly url: string
  close(): void
}

/**
 * Opens a pooler that treats connections with settings like PgBouncer: it refuses them, or drops the settings that
 * `ignore_startup_parameters` names.
 * @throws Error if the server does not listen on a port
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
 * Forwards a StartupMessage without its options. The message contains its length, the version, names and values.
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
