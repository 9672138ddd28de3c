import type { FastifyInstance } from 'fastify'
import type { ServiceLogger } from '../telemetry/logger.ts'
import type { Readiness } from './readiness.ts'

export interface RunOptions {
  readonly app: FastifyInstance
  readonly host: string
  readonly port: number
  readonly log: ServiceLogger
  readonly readiness: Readiness
  /** Work that begins once requests are taken: the job worker, the metrics listener. */
  readonly start: () => Promise<void>
  /** Ends what `start` began, then closes the database. */
  readonly stop: () => Promise<void>
  /** The process: signals come in and the exit code goes out here. */
  readonly process: Pick<NodeJS.Process, 'on' | 'exit'>
}

const SHUTDOWN_MS = 30_000

/** Listens until SIGTERM or SIGINT, then finishes what runs (30 s at most) and exits 0. SIGHUP opens the log file again. */
export async function runServer(options: RunOptions): Promise<void> {
  const { app, host, port, log, readiness, start, stop } = options
  const address = await app.listen({ host, port })
  log.logger.info({ address }, 'listening')
  options.process.on('SIGTERM', () => void shutDown('SIGTERM'))
  options.process.on('SIGINT', () => void shutDown('SIGINT'))
  options.process.on('SIGHUP', log.reopen)
  await start()
  readiness.markReady()

  let stopping = false
  async function shutDown(signal: string): Promise<void> {
    if (stopping) return
    stopping = true
    readiness.drain()
    log.logger.info({ signal }, 'shutting down')
    const late = setTimeout(() => finish('gave up waiting for what still ran'), SHUTDOWN_MS)
    try {
      await app.close()
      await stop()
    } catch (error) {
      log.logger.error({ err: error }, 'shutdown did not go as it should')
    }
    clearTimeout(late)
    finish('stopped')
  }

  function finish(message: string): void {
    log.logger.info(message)
    log.flush()
    options.process.exit(0)
  }
}
