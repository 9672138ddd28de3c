import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { urlThrough } from './url-through.ts'

/** A way to a PostgreSQL server on which connections can be cut. */
export interface Wire {
  /** The URL of the server by this way. */
  readonly url: string
  /** How many statements have passed. */
  readonly statements: () => number
  /** The numbers of the statements that commit a transaction. */
  readonly commits: () => readonly number[]
  close(): Promise<void>
}

/**
 * Opens a way to a server that is cut at a statement, for all connections at once and for good, as if the process at its near
 * end were killed: the server gets the statement, and nobody gets its answer.
 * @param cutAt the number of the statement, from 1, over all connections. Undefined: it is never cut
 * @throws Error when the server does not listen on a port
 */
export async function openWire(serverUrl: string, cutAt?: number): Promise<Wire> {
  const { hostname, port } = new URL(serverUrl)
  const sockets = new Set<Socket>()
  const commits: number[] = []
  let statements = 0
  let isCut = false
  const cut = (): void => {
    isCut = true
    for (const socket of sockets) socket.end()
  }
  const listener = createServer((client) => {
    if (isCut) return client.destroy()
    const server = connect(Number(port || 5432), hostname)
    const read = createReader()
    client.on('data', (data: Buffer) => {
      server.write(data)
      for (const isCommit of read(data)) {
        statements += 1
        if (isCommit) commits.push(statements)
      }
      if (cutAt !== undefined && statements >= cutAt && !isCut) cut()
    })
    server.on('data', (data) => {
      // Further answers of the server are lost.
      if (!isCut) client.write(data)
    })
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('end', () => other.end())
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroySoon()
      })
    }
  })
  const url = await urlThrough(listener, serverUrl)
  return {
    url,
    statements: () => statements,
    commits: () => commits,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      listener.close()
      await once(listener, 'close')
    },
  }
}

const SIMPLE_QUERY = 'Q'.charCodeAt(0)
const EXECUTE = 'E'.charCodeAt(0)

/**
 * Reads the statements of a client, however its bytes are split: for each, whether it commits a transaction.
 * A message has a type, which the first message lacks, and a length that includes itself.
 * @see https://www.postgresql.org/docs/current/protocol-message-formats.html
 */
function createReader(): (data: Buffer) => readonly boolean[] {
  let rest = Buffer.alloc(0)
  let typeBytes = 0
  return (data) => {
    const statements: boolean[] = []
    rest = Buffer.concat([rest, data])
    while (rest.length >= typeBytes + 4) {
      const length = typeBytes + rest.readInt32BE(typeBytes)
      if (rest.length < length) break
      if (typeBytes > 0 && (rest[0] === SIMPLE_QUERY || rest[0] === EXECUTE)) {
        statements.push(/^commit\0$/i.test(rest.toString('latin1', typeBytes + 4, length)))
      }
      rest = rest.subarray(length)
      typeBytes = 1
    }
    return statements
  }
}
