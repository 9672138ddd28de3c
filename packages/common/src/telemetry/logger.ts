import { constants, existsSync, fstatSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { type Logger, pino } from 'pino'
import { type ByteWriter, createByteWriter, writeNow } from './byte-writer.ts'
import { type ByteSink, createLineBuffer } from './line-buffer.ts'
import { CENSOR, REDACTED_PATHS } from './redaction.ts'

/** From the most to the least severe. `panic` writes what `fatal` writes. */
export const LOG_LEVELS = ['panic', 'fatal', 'error', 'warn', 'info', 'debug'] as const
/** The level of a log line, and the least severe level that a logger writes. */
export type LogLevel = (typeof LOG_LEVELS)[number]

/** The lines that a logger writes, the place where it writes them, and what it leaves out of them. */
export interface LoggerConfig {
  readonly level: LogLevel
  /** A file that lines are appended to, beside standard output. Its folder is made. */
  readonly file?: string | undefined
  /** False keeps lines from standard output. */
  readonly stdout?: boolean
  /** True writes lines to standard error too: for commands, whose output is for others. */
  readonly stderr?: boolean
  readonly redact?: readonly string[]
  /** Removes from a finished line what no log may show. */
  readonly scrub?: (text: string) => string
  /** Members of every line, for example `{ component: 'api' }`. */
  readonly base?: Readonly<Record<string, unknown>>
}

/** The logger of a process, with its destinations. */
export interface ServiceLogger {
  readonly logger: Logger
  /** Opens the file again, after it was moved. */
  reopen(): Promise<void>
  /** Resolves when all lines so far are written, or after 5 s. */
  flush(): Promise<void>
}

/**
 * Makes a buffered logger of JSON lines with time, level and msg. Lines that it holds when the process ends are still written.
 * To have them written in order, await `flush` first.
 * @throws Error naming the file when it cannot be written
 */
export function createLogger(config: LoggerConfig): ServiceLogger {
  const destinations = [
    ...(config.stdout === false ? [] : [createLogDestination({ descriptor: STDOUT }, reportLoss('standard output'))]),
    ...(config.stderr ? [createLogDestination({ descriptor: STDERR }, reportLoss('standard error'))] : []),
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

/** pino's time, formatted once a millisecond and up to 1 ms old: a busy server logs twenty lines in a millisecond. */
function timeMember(): () => string {
  let madeAtMs = -Infinity
  let member = ''
  return () => {
    const atMs = performance.now()
    if (atMs - madeAtMs >= 1) {
      madeAtMs = atMs
      member = pino.stdTimeFunctions.isoTime()
    }
    return member
  }
}

const STDOUT = 1
const STDERR = 2

function openFile(file: string): LogDestination {
  try {
    createFolder(dirname(resolve(file)))
    return createLogDestination({ file }, reportLoss(`log file ${file}`))
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new Error(`log file ${file} cannot be written (${reason})`, { cause })
  }
}

/** Writes to standard error: a full disk must be seen, and must not end the process. */
function reportLoss(what: string): (error: Error) => void {
  return (error) => {
    try {
      writeSync(STDERR, `${what}: ${error.message}\n`)
    } catch {
      // If standard error is closed too, the loss cannot be reported anywhere, and must not end the process.
    }
  }
}

/** Creates one folder after the other: Node's recursive form does not return on every file system. */
function createFolder(folder: string): void {
  if (existsSync(folder)) return
  createFolder(dirname(folder))
  try {
    mkdirSync(folder)
  } catch (error) {
    // Another process may have made the folder meanwhile.
    if (!existsSync(folder)) throw error
  }
}

/** Never throws: what cannot be written is dropped. */
interface LogDestination extends ByteSink {
  /** Opens the file again, after it was moved. Earlier lines go to the moved file, unless that takes 5 s. */
  reopen(): Promise<void>
}

/** An open descriptor, or the name of a file. */
type LogTarget = { readonly descriptor: number } | { readonly file: string }

type OnError = (error: Error) => void

/**
 * Opens what lines are written to.
 * @param onError called when lines begin to be lost, and when a file cannot be opened again
 * @throws Error of the system when the file cannot be opened
 */
export function createLogDestination(target: LogTarget, onError: OnError): LogDestination {
  if ('descriptor' in target) return { ...writerOf(target.descriptor, onError), reopen: async () => {} }
  const { moveTo, ...writer } = openWriter(target.file, onError)
  return {
    ...writer,
    reopen: async () => {
      await writer.flush()
      try {
        moveTo(open(target.file))
      } catch (error) {
        onError(error instanceof Error ? error : new Error(String(error)))
      }
    },
  }
}

/** Opens a pipe again, so that non-blocking writes stay private to this process. A socket cannot be opened again. */
function writerOf(descriptor: number, onError: OnError): ByteWriter {
  try {
    if (fstatSync(descriptor).isFIFO()) return openWriter(`/proc/self/fd/${descriptor}`, onError)
  } catch {
    // Only Linux has these names, and the pipe may belong to another user.
  }
  return createByteWriter(descriptor, onError)
}

function openWriter(file: string, onError: OnError): ByteWriter {
  const descriptor = open(file)
  return createByteWriter(descriptor, onError, fstatSync(descriptor).isFIFO() ? writeNow : undefined)
}

/** Non-blocking: a pipe whose reader has stopped must not keep the process from ending. Files ignore the flag. */
function open(file: string): number {
  return openSync(file, constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NONBLOCK)
}
