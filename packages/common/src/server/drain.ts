import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'

/** How a server that takes requests comes to take none, without losing one. */
export interface Drain {
  /** From now on every answer ends its connection, so that a client's next request may go to another process. */
  begin(): void
  /** Resolves when nobody has asked for a while but for readiness: balancers have noticed. Or after so many milliseconds. */
  quiet(limitMs: number): Promise<void>
  /** Takes no more connections, and waits for the answers to what has been asked; cuts off the rest after so many milliseconds. */
  close(limitMs: number): Promise<void>
}

const QUIET_MS = 500
/** For those who connect all the time. */
const HEAR_MS = 1_000

/** Watches the server; to be called before it listens. */
export function createDrain(app: FastifyInstance): Drain {
  const sockets = watchSockets(app.server)
  let askedMs = Number.NEGATIVE_INFINITY
  let isDraining = false
  app.server.prependListener('request', (request, response: ServerResponse) => {
    if (request.url !== '/ready') askedMs = performance.now()
    if (isDraining) response.shouldKeepAlive = false
  })
  return {
    begin: () => {
      isDraining = true
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
      const late = setTimeout(() => app.server.closeAllConnections(), limitMs)
      try {
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
