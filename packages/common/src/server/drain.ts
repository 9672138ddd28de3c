import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { READY_PATH } from './readiness.ts'

/** How a server that takes requests comes to take none, losing as few as can be. */
export interface Drain {
  /** From now on answers end their connections, so that a client's next request may go to another process. */
  begin(): void
  /** Resolves when nobody has asked for a while but for readiness: balancers seem to have noticed. Or after so many milliseconds. */
  quiet(limitMs: number): Promise<void>
  /**
   * Hears who has connected already, takes no more connections, and waits for the answers to what has been asked; cuts off the
   * rest after so many milliseconds.
   */
  close(limitMs: number): Promise<void>
}

/** Of a service that is asked twice a second or more. */
const QUIET_MS = 500
/** At most; for where somebody connects all the time. A full queue of the kernel has 511. */
const HEAR_MS = 5_000
/** At most; for who reads slowly. */
const SEND_MS = 5_000
const SEND_CHECK_MS = 20
/** For the next request on a connection whose answer said before the end that there may be one. */
const KEEP_ALIVE_MS = 100

/** Watches the server; to be called before it listens. */
export function createDrain(app: FastifyInstance): Drain {
  const { server } = app
  const sockets = watchSockets(server)
  let askedMs = Number.NEGATIVE_INFINITY
  return {
    begin: () => {
      server.prependListener('request', (request, response: ServerResponse) => {
        if (request.url !== READY_PATH) askedMs = performance.now()
        response.shouldKeepAlive = false
      })
    },
    quiet: async (limitMs) => {
      const endMs = performance.now() + limitMs
      for (;;) {
        await hearWaiting(sockets)
        const nowMs = performance.now()
        const restMs = Math.min(askedMs + QUIET_MS, endMs) - nowMs
        if (restMs <= 0) return
        await delay(restMs)
      }
    },
    close: async (limitMs) => {
      const late = setTimeout(() => server.closeAllConnections(), limitMs)
      try {
        await sendHanded(sockets)
        await hearWaiting(sockets)
        server.keepAliveTimeout = KEEP_ALIVE_MS
        server.keepAliveTimeoutBuffer = 0
        const closed = app.close()
        // Node closes the connections that are idle after a request, but waits for those that have not asked anything yet.
        for (const socket of sockets.open) if (socket.bytesRead === 0) socket.destroy()
        await closed
      } finally {
        clearTimeout(late)
      }
    },
  }
}

interface Sockets {
  readonly open: ReadonlySet<Socket>
  readonly count: number
}

/** The open connections, and how many there have been. */
function watchSockets(server: Server): Sockets {
  const open = new Set<Socket>()
  const sockets = { open, count: 0 }
  server.on('connection', (socket) => {
    sockets.count += 1
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  return sockets
}

/**
 * Takes in who has connected and reads what he asks. A busy process has many waiting in the kernel, which would reset them:
 * Node accepts one a turn of its loop, and reads what it says in the next.
 */
async function hearWaiting(sockets: Sockets): Promise<void> {
  const endMs = performance.now() + HEAR_MS
  let seen: number
  do {
    seen = sockets.count
    // The first turn may be one that has looked at its connections already.
    for (let turns = 0; turns < 3; turns += 1) await turn()
  } while (sockets.count > seen && performance.now() < endMs)
}

/** Waits for the answers that are handed over but not sent: their connections are idle to Node, which would cut them off. */
async function sendHanded({ open }: Sockets): Promise<void> {
  const endMs = performance.now() + SEND_MS
  const isSending = () => [...open].some(({ writableLength }) => writableLength > 0)
  while (isSending() && performance.now() < endMs) await delay(SEND_CHECK_MS)
}
