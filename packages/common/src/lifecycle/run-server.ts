import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { boundGarbage, keepTickShape, releaseMemory } from '../connections/release-memory.ts'
import type { ServiceLogger } from '../telemetry/logger.ts'
import type { Readiness } from './readiness.ts'

/** A server, its address, and the work that starts and ends with the server. Times are in milliseconds. */
export interface RunOptions {
  readonly app: FastifyInstance
  readonly host: string
  readonly port: number
  readonly log: RunLog
  readonly readiness: Readiness
  /**
   * Starts other work when the server takes requests, such as the job worker and the metrics listener. Load libraries after
   * `answered`, the first response, because the process cannot respond while it loads a library.
   */
  readonly start: (answered: Promise<void>) => Promise<void>
  /** Ends the work of `start`, then closes all resources. @param remainingMs how long this may take */
  readonly stop: (remainingMs: number) => Promise<void>
  /**
   * The time for which requests are still accepted after the signal, so that load balancers notice that the process is not ready.
   * If it is not 0, the server accepts requests for longer while they keep arriving.
   */
  readonly shutdownDelayMs: number
  readonly process: RunProcess
  /** Replaced by tests. */
  readonly limits?: Limits
  /**
   * Bounds the memory of the process after everything is loaded. The default collects the garbage of loading and limits later
   * garbage. Tests replace this function, because their process loads and keeps much more than a service.
   */
  readonly boundMemory?: () => void
}

interface RunLog extends Pick<ServiceLogger, 'reopen' | 'flush'> {
  readonly logger: Record<'info' | 'error' | 'fatal', (members: unknown, message?: string) => unknown>
}

interface RunProcess {
  on(event: NodeJS.Signals, listener: () => void): unknown
  on(event: 'uncaughtException', listener: (error: Error, origin: string) => void): unknown
  removeAllListeners(event: NodeJS.Signals): unknown
  exit(status: number): unknown
}

interface Limits {
  /** The time to wait for a first request. */
  readonly unaskedMs: number
  /** The time to wait, after `shutdownDelayMs`, for load balancers that still send requests. It is a part of `drainMs`. */
  readonly noticeMs: number
  /** The time that open requests may take. After this time they are aborted. */
  readonly drainMs: number
  readonly shutdownMs: number
}

const LIMITS: Limits = { unaskedMs: 100, noticeMs: 10_000, drainMs: 20_000, shutdownMs: 30_000 }

/** Logs the notes and warnings of the settings, then calls `start`. Logs a failure before throwing it. */
export async function startLogged(
  log: Pick<ServiceLogger, 'logger' | 'flush'>,
  { notes = [], warnings }: { readonly notes?: readonly string[]; readonly warnings: readonly string[] },
  start: () => Promise<void>,
): Promise<void> {
  try {
    for (const note of notes) log.logger.info(note)
    for (const warning of warnings) log.logger.warn(warning)
    await start()
  } catch (error) {
    log.logger.fatal({ err: error }, 'start failed')
    await log.flush()
    throw error
  }
}

/**
 * Runs a server until SIGTERM or SIGINT. The server then reports that it is not ready, finishes open requests (30 s at most),
 * waits up to 6 s until its log is written, and exits with 0. If a signal arrives during `start`, the shutdown waits for `start`.
 * SIGHUP reopens the log file. An uncaught error is logged and ends the process.
 */
export async function runServer(options: RunOptions): Promise<void> {
  const { app, log, readiness, stop, shutdownDelayMs, limits = LIMITS } = options
  const { noticeMs, drainMs, shutdownMs } = limits
  const drain = createDrain(app)
  const begun = startServing(options)
  // `await begun` below handles the failure. This handler prevents an unhandled rejection before that line.
  begun.catch(() => {})
  let isStopping = false
  let isFinishing = false
  let hasCrashed = false
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    // Replace the listeners of `runCommandLine`, which end the process without a shutdown.
    options.process.removeAllListeners(signal)
    options.process.on(signal, () => void shutDown(signal))
  }
  options.process.on('SIGHUP', () => void log.reopen())
  options.process.on('uncaughtException', (error, origin) => {
    log.logger.fatal({ err: error, origin }, 'crashed')
    if (hasCrashed) options.process.exit(1)
    hasCrashed = true
    void log.flush().then(() => options.process.exit(1))
  })
  await begun

  async function shutDown(signal: string): Promise<void> {
    if (isStopping) return
    isStopping = true
    readiness.drain()
    drain.begin()
    log.logger.info({ signal }, 'shutting down')
    const limitMs = shutdownDelayMs + shutdownMs
    const deadlineMs = performance.now() + limitMs
    const late = setTimeout(() => void finish('gave up waiting for what still ran'), limitMs)
    try {
      await Promise.all([begun.catch(() => {}), delay(shutdownDelayMs)])
      const drainedMs = performance.now() + drainMs
      if (shutdownDelayMs > 0) await drain.quiet(noticeMs)
      await drain.close(drainedMs - performance.now())
      await stop(deadlineMs - performance.now())
    } catch (error) {
      log.logger.error({ err: error }, 'shutdown did not go as it should')
    }
    clearTimeout(late)
    await finish('stopped')
  }

  async function finish(message: string): Promise<void> {
    if (isFinishing) return
    isFinishing = true
    log.logger.info(message)
    await log.flush()
    options.process.exit(0)
  }
}

async function startServing(options: RunOptions): Promise<void> {
  const { app, host, port, log, readiness, start, limits = LIMITS, boundMemory = collectAndBound } = options
  keepTickShape()
  const address = await app.listen({ host, port })
  log.logger.info({ address }, 'listening')
  await start(waitForFirstAnswer(app.server, limits.unaskedMs))
  boundMemory()
  readiness.markReady()
}

function collectAndBound(): void {
  releaseMemory()
  boundGarbage()
}

/** Resolves after the first response, or after `withinMs` milliseconds if no request arrives. */
function waitForFirstAnswer(server: Server, withinMs: number): Promise<void> {
  return new Promise((resolve) => {
    server.once('request', (_request, response) => response.once('close', resolve))
    setTimeout(resolve, withinMs)
  })
}

const READY_PATH = '/ready'
/** Long enough for services with two requests a second or more. */
const QUIET_MS = 500
/** Bounds `acceptWaiting` on a server with constant new connections. A full kernel queue has 511. */
const ACCEPT_MS = 5_000
/** The maximum time to send responses, for clients that read slowly. */
const SEND_MS = 5_000
const SEND_CHECK_MS = 20
/** How long a kept-alive connection may wait for its next request when the server closes. */
const KEEP_ALIVE_MS = 100

/** The steps in which a server stops, in order. */
interface Drain {
  /** From this step on, each response closes its connection, so that the next request of the client can reach another process. */
  readonly begin: () => void
  /**
   * Resolves when no request except `GET /ready` has arrived for a while, which means that load balancers have noticed. Resolves
   * after `limitMs` at the latest.
   */
  readonly quiet: (limitMs: number) => Promise<void>
  /**
   * Accepts connections that wait in the kernel, then stops accepting. Waits for the responses to all requests, and aborts the
   * remaining requests after `limitMs`.
   */
  readonly close: (limitMs: number) => Promise<void>
}

/** Returns the steps that stop a server with as few lost requests as possible. Call it before the server listens. */
function createDrain(app: FastifyInstance): Drain {
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
        // Node closes connections that are idle after a request, but it would wait for connections that have sent nothing.
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

/** Tracks the open connections and the total number of connections so far. */
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
 * Accepts waiting connections and reads from them. Node accepts one per turn of the event loop and reads in the next turn, so
 * many may wait in the kernel, which would reset them.
 */
async function acceptWaiting(sockets: Sockets): Promise<void> {
  const endMs = performance.now() + ACCEPT_MS
  let seen: number
  do {
    seen = sockets.count
    // Wait several turns, because the first turn may have checked for connections before this call.
    for (let turns = 0; turns < 3; turns += 1) await turn()
  } while (sockets.count > seen && performance.now() < endMs)
}

/** Waits until buffered responses are sent. Node would close these connections, because it counts them as idle. */
async function sendWaitingAnswers({ open }: Sockets): Promise<void> {
  const endMs = performance.now() + SEND_MS
  const isSending = () => [...open].some(({ writableLength }) => writableLength > 0)
  while (isSending() && performance.now() < endMs) await delay(SEND_CHECK_MS)
}
