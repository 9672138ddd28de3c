import { existsSync, mkdirSync, writeSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { type Logger, pino } from 'pino'
import { createLineBuffer } from './line-buffer.ts'
import { createLogDestination, type LogDestination } from './log-destination.ts'
import { CENSOR, REDACTED_PATHS } from './redaction.ts'

export const LOG_LEVELS = ['panic', 'fatal', 'error', 'warn', 'info', 'debug'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

export interface LoggerConfig {
  readonly level: LogLevel
  /** Appended to, beside standard output. Its folder is made. */
  readonly file?: string | undefined
  /** False keeps lines from standard output. */
  readonly stdout?: boolean
  readonly redact?: readonly string[]
  /** Takes out of finished lines what no log must show. */
  readonly scrub?: (text: string) => string
  /** Members of every line, for example `{ component: 'api' }`. */
  readonly base?: Readonly<Record<string, unknown>>
}

export interface ServiceLogger {
  readonly logger: Logger
  /** Opens the file again, after somebody moved it. */
  reopen(): Promise<void>
  /** Resolves when all lines so far are written, or after 5 s. */
  flush(): Promise<void>
}

/**
 * A logger of JSON lines with time, level and msg, buffered. What it holds when the process ends is still written; whoever
 * ends the process in order awaits `flush`, and has them in order.
 * @throws Error naming the file when it cannot be written
 */
export function createLogger(config: LoggerConfig): ServiceLogger {
  const destinations = [
    ...(config.stdout === false ? [] : [createLogDestination({ descriptor: STDOUT }, tell('standard output'))]),
    ...(config.file === undefined ? [] : [openFile(config.file)]),
  ]
  const buffer = createLineBuffer(destinations, config.scrub)
  const logger = pino(
    {
      level: config.level === 'panic' ? 'fatal' : config.level,
      base: config.base ?? {},
      timestamp: timeMember(),
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: [...REDACTED_PATHS, ...(config.redact ?? [])], censor: CENSOR },
    },
    buffer,
  )
  return {
    logger,
    reopen: async () => {
      await Promise.all(destinations.map((destination) => destination.reopen()))
    },
    flush: buffer.flush,
  }
}

/** pino's own time, made once a millisecond and up to one late: a busy server logs twenty lines in one. */
function timeMember(): () => string {
  let madeAt = -Infinity
  let made = ''
  return () => {
    const at = performance.now()
    if (at - madeAt >= 1) {
      madeAt = at
      made = pino.stdTimeFunctions.isoTime()
    }
    return made
  }
}

const STDOUT = 1
const STDERR = 2

function openFile(file: string): LogDestination {
  try {
    makeFolder(dirname(resolve(file)))
    return createLogDestination({ file }, tell(`log file ${file}`))
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new Error(`log file ${file} cannot be written (${reason})`, { cause })
  }
}

/** A full disk must not end the process, and must be seen. */
function tell(what: string): (error: Error) => void {
  return (error) => {
    try {
      writeSync(STDERR, `${what}: ${error.message}\n`)
    } catch {
      // Nobody is left to tell.
    }
  }
}

/** One folder after the other: Node's own recursive form never returns where the system answers ENOENT, as /proc does. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return
  makeFolder(dirname(folder))
  try {
    mkdirSync(folder)
  } catch (error) {
    // Another process may have made it in between.
    if (!existsSync(folder)) throw error
  }
}
