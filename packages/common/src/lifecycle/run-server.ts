import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { boundGarbage, keepTickShape, releaseMemory } from '../connections/release-memory.ts'
import type { ServiceLogger } from '../telemetry/logger.ts'
import type { Readiness } from './readiness.ts'

/** A server, the address that it listens on, and the work that starts and ends with it. Times are in milliseconds. */
export interface RunOptions {
  readonly app: FastifyInstance
  readonly host: string
  readonly port: number
  readonly log: RunLog
  readonly readiness: Readiness
  /**
   * Work that begins when the server takes requests, such as the job worker and the metrics listener. Load libraries after
   * `answered` has resolved, which happens with the first answer: while a library loads, the process answers nothing.
   */
  readonly start: (answered: Promise<void>) => Promise<void>
  /** Ends the work of `start`, then closes what the process has open. @param remainingMs how long this may take */
  readonly stop: (remainingMs: number) => Promise<void>
  /**
   * How long requests are still taken after the signal, so that load balancers notice that the process is not ready. Unless it
   * is 0, this takes longer while requests still arrive.
   */
  readonly shutdownDelayMs: number
  readonly process: RunProcess
  /** For tests. */
  readonly limits?: Limits
  /**
   * Bounds the memory of the whole process, after everything is loaded. Tests replace it: their process loads and keeps much
   * else. Default: collects what loading has left behind, and bounds the garbage from then on.
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
  /** How long to wait for a first request. */
  readonly unaskedMs: number
  /** How long to wait for late load balancers, after `shutdownDelayMs`. This counts towards `drainMs`. */
  readonly noticeMs: number
  /** How long open requests may take. Then they are cut. */
  readonly drainMs: number
  readonly shutdownMs: number
}

const LIMITS: Limits = { unaskedMs: 100, noticeMs: 10_000, drainMs: 20_000, shutdownMs: 30_000 }

/** Logs the notes and warnings of the settings, then starts. A failure is logged before it is thrown. */
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
 * Runs a server until SIGTERM or SIGINT. Then it is not ready for a while, finishes open requests (30 s at most), gives the
 * reader of its log up to 6 s, and exits with 0. A signal that arrives during `start` waits for it. SIGHUP opens the log file
 * again. An uncaught error is logged and ends the process.
 */
export async function runServer(options: RunOptions): Promise<void> {
  const { app, log, readiness, stop, shutdownDelayMs, limits = LIMITS } = options
  const { noticeMs, drainMs, shutdownMs } = limits
  const drain = createDrain(app)
  const begun = startServing(options)
  // The caller that awaits it gets the failure. Until then it must not count as unhandled.
  begun.catch(() => {})
  let isStopping = false
  let isFinishing = false
  let hasCrashed = false
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    // From now on a signal stops the server in order, instead of ending the process at once (see runCommandLine).
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

/** Resolves after the first answer, or after the given time without a request. */
function waitForFirstAnswer(server: Server, withinMs: number): Promise<void> {
  return new Promise((resolve) => {
    server.once('request', (_request, response) => response.once('close', resolve))
    setTimeout(resolve, withinMs)
  })
}

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
interface Drain {
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
