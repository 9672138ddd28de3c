import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'

/** The path that load balancers ask whether a process should get requests. */
const READY_PATH = '/ready'
/** For a service with two requests a second or more. */
const QUIET_MS = 500
/** Limit, for a server with new connections all the time. A full queue of the kernel has 511. */
const ACCEPT_MS = 5_000
/** Limit, for clients that read slowly. */
const SEND_MS = 5_000
const SEND_CHECK_MS = 20
/** How long a connection waits for its next request, when its last answer allowed one before the drain began. */
const KEEP_ALIVE_MS = 100

/** The steps in which a server stops, in their order. */
export interface Drain {
  /** From now on each answer closes its connection, so that the next request of the client may go to another process. */
  readonly begin: () => void
  /**
   * Resolves when no request has arrived for a while, except for readiness: load balancers have noticed. Also resolves after
   * the given milliseconds.
   */
  readonly quiet: (limitMs: number) => Promise<void>
  /**
   * Accepts connections that wait in the kernel, then no more. Waits for the answers to all requests, and cuts the rest after
   * the given milliseconds.
   */
  readonly close: (limitMs: number) => Promise<void>
}

/** Returns the steps that stop a server and lose as few requests as possible. Call it before the server listens. */
export function createDrain(app: FastifyInstance): Drain {
  const { server } = app
  const sockets = watchSockets(server)
  let lastRequestMs = Number.NEGATIVE_INFINITY
  return {
    begin: (): void => {
      server.prependListener('request', (request, response: ServerResponse) => {
        if (request.url !== READY_PATH) lastRequestMs = performance.now()
        response.shouldKeepAlive = false
      })
    },
    quiet: async (limitMs: number): Promise<void> => {
      const endMs = performance.now() + limitMs
      for (;;) {
        await acceptWaiting(sockets)
        const nowMs = performance.now()
        const restMs = Math.min(lastRequestMs + QUIET_MS, endMs) - nowMs
        if (restMs <= 0) return
        await delay(restMs)
      }
    },
    close: async (limitMs: number): Promise<void> => {
      const late = setTimeout(() => server.closeAllConnections(), limitMs)
      try {
        await sendWaitingAnswers(sockets)
        await acceptWaiting(sockets)
        server.keepAliveTimeout = KEEP_ALIVE_MS
        server.keepAliveTimeoutBuffer = 0
        const closed = app.close()
        // Node closes connections that are idle after a request, but waits for connections without any request.
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

/** The open connections, and how many there have been in all. */
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
 * Accepts waiting connections and reads what they have sent. In a busy process many wait in the kernel, which would reset them:
 * Node accepts one in each turn of the event loop, and reads from it in the next.
 */
async function acceptWaiting(sockets: Sockets): Promise<void> {
  const endMs = performance.now() + ACCEPT_MS
  let seen: number
  do {
    seen = sockets.count
    // The first turn may already have checked its connections.
    for (let turns = 0; turns < 3; turns += 1) await turn()
  } while (sockets.count > seen && performance.now() < endMs)
}

/** Waits until the answers that were handed to sockets are sent. To Node these connections are idle, and it would cut them. */
async function sendWaitingAnswers({ open }: Sockets): Promise<void> {
  const endMs = performance.now() + SEND_MS
  const isSending = () => [...open].some(({ writableLength }) => writableLength > 0)
  while (isSending() && performance.now() < endMs) await delay(SEND_CHECK_MS)
}
