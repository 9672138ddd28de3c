import { createReadStream } from 'node:fs'
import { readlink } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { createInterface } from 'node:readline'

interface Handle {
  /** Bytes that were written but that the kernel has not yet taken. */
  readonly writeQueueSize: number
  /** `undefined` on Windows. */
  readonly fd?: number
}

/**
 * Returns a number of bytes that rises only when the kernel takes bytes from the process. Node's `bytesWritten` already rises
 * when bytes are handed to a socket, even if they wait there for a long time.
 */
export function progressOf(socket: Socket): number {
  return socket.bytesWritten - socket.writableLength - (handleOf(socket)?.writeQueueSize ?? 0)
}

/**
 * Returns the bytes that the kernel holds for each socket because its client has not acknowledged them. While it holds megabytes
 * for a slow client, it takes none from the process for minutes. Only on Linux; elsewhere the map is empty.
 */
export async function countUnacknowledgedBytes(sockets: readonly Socket[]): Promise<ReadonlyMap<Socket, number>> {
  const byInode = new Map<string, Socket>()
  for (const socket of sockets) {
    const link = await readlink(`/proc/self/fd/${handleOf(socket)?.fd}`).catch(() => '')
    const inode = /^socket:\[(\d+)\]$/.exec(link)?.[1]
    if (inode !== undefined) byInode.set(inode, socket)
  }
  const held = new Map<Socket, number>()
  if (byInode.size === 0) return held
  for (const table of ['/proc/self/net/tcp', '/proc/self/net/tcp6']) {
    for await (const [bytes, inode] of readQueues(table)) {
      const socket = byInode.get(inode)
      if (socket !== undefined) held.set(socket, bytes)
    }
  }
  return held
}

/** Reads the table line by line, because a server may have a hundred thousand connections. */
async function* readQueues(table: string): AsyncGenerator<readonly [bytes: number, inode: string]> {
  const lines = createInterface({ input: createReadStream(table) })
  try {
    for await (const line of lines) {
      // The fields are sl, local address, remote address, state, tx_queue:rx_queue, timer, retransmits, uid, timeout and inode.
      const fields = line.trim().split(/\s+/)
      const [queues = '', inode = ''] = [fields[4], fields[9]]
      yield [Number.parseInt(queues, 16), inode]
    }
  } catch {
    // The system is not Linux, or has no IPv6.
  }
}

function handleOf(socket: Socket): Handle | undefined {
  const handle: unknown = Reflect.get(socket, '_handle')
  return isHandle(handle) ? handle : undefined
}

function isHandle(handle: unknown): handle is Handle {
  return typeof handle === 'object' && handle !== null && 'writeQueueSize' in handle
}

/** A connection whose client has not read everything that was sent to it. */
interface Owing {
  readonly client: string
  /** Bytes that wait for the client, including the memory of the request. */
  readonly bytes: number
  /** The last time at which the client read something, on a monotonic clock. */
  readonly sinceMs: number
}

/**
 * Chooses connections to close until at most `bytesMax` bytes wait. Takes them from the client with the most waiting bytes, first
 * the connection that has not read for the longest time, and repeats. So a client that reads keeps its connection, even if many
 * others do not. The last connection is never closed, because an answer may have any size.
 */
export function findCrowding<T extends Owing>(owing: readonly T[], bytesMax: number): readonly T[] {
  let waiting = sumOf(owing)
  if (waiting <= bytesMax) return []
  const clients = [...Map.groupBy(owing, ({ client }) => client).values()].map((connections) => ({
    bytes: sumOf(connections),
    connections: connections.sort((one, other) => one.sinceMs - other.sinceMs),
  }))
  const crowding: T[] = []
  while (waiting > bytesMax && crowding.length < owing.length - 1) {
    const most = clients.reduce((one, other) => (other.bytes > one.bytes ? other : one))
    const connection = most.connections.shift()
    if (connection === undefined) break
    most.bytes -= connection.bytes
    waiting -= connection.bytes
    crowding.push(connection)
  }
  return crowding
}

function sumOf(owing: readonly Owing[]): number {
  return owing.reduce((sum, { bytes }) => sum + bytes, 0)
}
