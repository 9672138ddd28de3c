import { createReadStream } from 'node:fs'
import { readlink } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { createInterface } from 'node:readline'

/** What Node's sockets have beside their documented members, on every system. */
interface Handle {
  /** Bytes that the kernel has not taken yet of what was written. */
  readonly writeQueueSize: number
  /** Undefined on Windows. */
  readonly fd?: number
}

/**
 * A number that rises when the kernel takes bytes of the process, and at no other time. The count `bytesWritten` of Node rises
 * when bytes are handed to a socket, however long they wait there.
 */
export function progressOf(socket: Socket): number {
  return socket.bytesWritten - socket.writableLength - (handleOf(socket)?.writeQueueSize ?? 0)
}

/**
 * Bytes that the kernel holds for each of the sockets because their clients have not acknowledged them. A kernel that holds
 * megabytes takes none from the process for minutes while a slow client reads. Sockets are missing where the system does not
 * tell, as all but Linux.
 */
export async function unacknowledgedBytes(sockets: readonly Socket[]): Promise<ReadonlyMap<Socket, number>> {
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

/** A server may have a hundred thousand connections: their table is read by parts. */
async function* readQueues(table: string): AsyncGenerator<readonly [bytes: number, inode: string]> {
  const lines = createInterface({ input: createReadStream(table) })
  try {
    for await (const line of lines) {
      // sl, local address, remote address, state, tx_queue:rx_queue, timer, retransmits, uid, timeout, inode
      const fields = line.trim().split(/\s+/)
      const [queues = '', inode = ''] = [fields[4], fields[9]]
      yield [Number.parseInt(queues, 16), inode]
    }
  } catch {
    // Another system, or one without IPv6.
  }
}

function handleOf(socket: Socket): Handle | undefined {
  const handle: unknown = Reflect.get(socket, '_handle')
  return isHandle(handle) ? handle : undefined
}

function isHandle(handle: unknown): handle is Handle {
  return typeof handle === 'object' && handle !== null && 'writeQueueSize' in handle
}
