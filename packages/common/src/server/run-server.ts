import type { Server } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { ServiceLogger } from '../telemetry/logger.ts'
import { createDrain } from './drain.ts'
import type { Readiness } from './readiness.ts'
import { boundGarbage, keepTickShape, releaseMemory } from './release-memory.ts'

export interface RunOptions {
  readonly app: FastifyInstance
  readonly host: string
  readonly port: number
  readonly log: ServiceLogger
  readonly readiness: Readiness
  /**
   * Work that begins once requests are taken: the job worker, the metrics listener. Libraries may be loaded once `answered`
   * has resolved, with the first answer: meanwhile the process gives none.
   */
  readonly start: (answered: Promise<void>) => Promise<void>
  /** Ends what `start` began, then closes the database, within so many milliseconds. */
  readonly stop: (remainingMs: number) => Promise<void>
  /**
   * How long requests are still taken after the signal, for balancers to notice that the process is not ready any more; if not
   * 0, longer while requests still come.
   */
  readonly shutdownDelayMs: number
  /** The process: signals come in and the exit code goes out here. */
  readonly process: Pick<NodeJS.Process, 'on' | 'removeAllListeners' | 'exit'>
  /** Milliseconds; for tests. */
  readonly limits?: Limits
}

interface Limits {
  /** For somebody to ask a new process. */
  readonly unaskedMs: number
  /** For balancers that are late, beyond `shutdownDelayMs`; `drainMs` goes on meanwhile. */
  readonly noticeMs: number
  /** For requests to be answered. What is left over then is cut off. */
  readonly drainMs: number
  /** For everything. */
  readonly shutdownMs: number
}

const LIMITS: Limits = { unaskedMs: 100, noticeMs: 10_000, drainMs: 20_000, shutdownMs: 30_000 }

/**
 * Listens until SIGTERM or SIGINT, is not ready for a while, then finishes what runs (30 s at most), gives the reader of its
 * log up to 6 s, and exits 0; a signal that comes while `start` still runs waits for it. SIGHUP opens the log file again. What
 * nobody caught is logged and ends the process.
 */
export async function runServer(options: RunOptions): Promise<void> {
  const { app, log, readiness, stop, shutdownDelayMs, limits = LIMITS } = options
  const { noticeMs, drainMs, shutdownMs } = limits
  const drain = createDrain(app)
  const begun = begin(options)
  // Whoever awaits it learns of a failure; until then it must not count as unhandled.
  begun.catch(() => {})
  let isStopping = false
  let isFinishing = false
  let hasCrashed = false
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    // From here on a signal ends more than the process alone (see runCommandLine).
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
    const deadline = performance.now() + limitMs
    const late = setTimeout(() => void finish('gave up waiting for what still ran'), limitMs)
    try {
      await Promise.all([begun.catch(() => {}), delay(shutdownDelayMs)])
      const drained = performance.now() + drainMs
      if (shutdownDelayMs > 0) await drain.quiet(noticeMs)
      await drain.close(drained - performance.now())
      await stop(deadline - performance.now())
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

async function begin({ app, host, port, log, readiness, start, limits = LIMITS }: RunOptions): Promise<void> {
  keepTickShape()
  const address = await app.listen({ host, port })
  log.logger.info({ address }, 'listening')
  await start(firstAnswer(app.server, limits.unaskedMs))
  releaseMemory()
  boundGarbage()
  readiness.markReady()
}

/** Resolves when the first request has been answered, or is not answered in so many milliseconds. */
function firstAnswer(server: Server, withinMs: number): Promise<void> {
  return new Promise((resolve) => {
    server.once('request', (_request, response) => response.once('close', resolve))
    setTimeout(resolve, withinMs)
  })
}
