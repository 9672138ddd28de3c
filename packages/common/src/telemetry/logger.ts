import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  write as writeInBackground,
  writeSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import { type Logger, pino } from 'pino'
import { type ByteSink, createLineBuffer } from './line-buffer.ts'
import { CENSOR, REDACTED_PATHS } from './redaction.ts'

/** Ordered from the most to the least severe. `panic` writes the same lines as `fatal`. */
export const LOG_LEVELS = ['panic', 'fatal', 'error', 'warn', 'info', 'debug'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

export interface LoggerConfig {
  readonly level: LogLevel
  /** A file to which lines are appended, in addition to standard output. Its folder is created. */
  readonly file?: string | undefined
  /** `false` disables standard output. */
  readonly stdout?: boolean
  /** `true` also writes lines to standard error. Commands use it, because their standard output is for other programs. */
  readonly stderr?: boolean
  readonly redact?: readonly string[]
  /** Removes secrets from a finished line. */
  readonly scrub?: (text: string) => string
  /** Members of every line, such as `{ component: 'api' }`. */
  readonly base?: Readonly<Record<string, unknown>>
}

export interface ServiceLogger {
  readonly logger: Logger
  /** Reopens the file after it was moved. */
  reopen(): Promise<void>
  /** Resolves when all lines so far are written, or after 5 s. */
  flush(): Promise<void>
}

/**
 * Creates a buffered logger of JSON lines with time, level and msg. Lines in the buffer are written even when the process ends.
 * To have them written in order, await `flush` before the end.
 * @throws Error with the name of the file, if it cannot be written
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

/** pino's time member, formatted once per millisecond: a busy server logs twenty lines in that time. */
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

/** Returns a function that reports lost lines on standard error. A full disk must be visible, but must not end the process. */
function reportLoss(what: string): (error: Error) => void {
  return (error) => {
    try {
      writeSync(STDERR, `${what}: ${error.message}\n`)
    } catch {
      // If standard error is closed too, the loss cannot be reported. It must not end the process.
    }
  }
}

/** Creates a folder and its parents one by one. Node's recursive option does not return on every file system. */
function createFolder(folder: string): void {
  if (existsSync(folder)) return
  createFolder(dirname(folder))
  try {
    mkdirSync(folder)
  } catch (error) {
    // Ignore the error if another process has created the folder in the meantime.
    if (!existsSync(folder)) throw error
  }
}

/** Never throws. Lines that cannot be written are dropped. */
interface LogDestination extends ByteSink {
  /** Reopens the file after it was moved. Earlier lines go to the moved file, unless that takes 5 s. */
  reopen(): Promise<void>
}

type LogTarget = { readonly descriptor: number } | { readonly file: string }

type OnError = (error: Error) => void

/**
 * Opens the destination of the log lines.
 * @param onError called when lines start to be lost, and when a file cannot be reopened
 * @throws Error of the system if the file cannot be opened
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

/** Reopens a pipe, so that non-blocking writes affect only this process. A socket cannot be reopened. */
function writerOf(descriptor: number, onError: OnError): ByteWriter {
  try {
    if (fstatSync(descriptor).isFIFO()) return openWriter(`/proc/self/fd/${descriptor}`, onError)
  } catch {
    // Use the descriptor itself: these names exist only on Linux, and the pipe may belong to another user.
  }
  return createByteWriter(descriptor, onError)
}

function openWriter(file: string, onError: OnError): ByteWriter {
  const descriptor = open(file)
  return createByteWriter(descriptor, onError, fstatSync(descriptor).isFIFO() ? writeNow : undefined)
}

/** Non-blocking: a pipe without an active reader must not keep the process from ending. Files ignore the flag. */
function open(file: string): number {
  return openSync(file, constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NONBLOCK)
}

/** Never throws. Lines that cannot be written are dropped. */
interface ByteWriter extends ByteSink {
  /** Writes to another descriptor from now on. Closes the old descriptor as soon as no write to it is under way. */
  moveTo(descriptor: number): void
}

/** Writes some of the bytes. `done` gets the number of written bytes. */
type Write = (descriptor: number, bytes: Buffer, done: (error: Error | null, count: number) => void) => void

/** The maximum number of bytes that wait for a target. Further lines are dropped, so that the log does not fill the memory. */
const HELD_BYTES_MAX = 16 * 1024 * 1024
/** The time after which a write to a full pipe is retried. It doubles with each retry, up to the maximum. */
const RETRY_MS = 1
const RETRY_MS_MAX = 50
/** The time that a flush waits for a reader. */
const FLUSH_MS = 5_000
const FLUSH_SYNC_MS = 1_000

/**
 * Creates a writer that writes chunks to a descriptor in order, and gives up after a time. pino's own `flushSync` has no time
 * limit, and a process that waits for it neither serves nor stops.
 * @param onError called at the first failure after a success, and when bytes are dropped for the first time since the queue was
 * empty
 */
export function createByteWriter(
  descriptor: number,
  onError: (error: Error) => void,
  write: Write = writeInBackground,
): ByteWriter {
  const queue = createByteQueue(HELD_BYTES_MAX)
  const report = createReport(onError)
  const reportRoom = createReport(onError)
  let target = descriptor
  let writingTo: number | undefined
  let retryMs = RETRY_MS
  const writeFirst = (): void => {
    const bytes = queue.first()
    if (writingTo !== undefined || bytes === undefined) return
    const to = target
    writingTo = to
    write(to, bytes, (error, count) => {
      writingTo = undefined
      if (to !== target) closeQuietly(to)
      if (error && isFull(error)) {
        setTimeout(writeFirst, retryMs).unref()
        retryMs = Math.min(2 * retryMs, RETRY_MS_MAX)
        return
      }
      report(error ?? undefined)
      retryMs = RETRY_MS
      queue.drop(error ? bytes.length : count)
      setImmediate(writeFirst)
    })
  }
  return {
    write: (bytes) => {
      const isEmpty = queue.first() === undefined
      // Start the write in the next tick, so that a flush in the current tick still finds the bytes in the queue.
      if (isEmpty) setImmediate(writeFirst)
      if (!queue.add(bytes)) reportRoom(new Error('16 MiB wait to be written'))
      else if (isEmpty) reportRoom(undefined)
    },
    flush: async () => {
      const late = Promise.withResolvers<void>()
      const timer = setTimeout(late.resolve, FLUSH_MS)
      await Promise.race([queue.passed(), late.promise])
      clearTimeout(timer)
    },
    flushSync: () => {
      const bytes = writingTo === undefined ? queue.takeAll() : queue.takeRest()
      report(writeAll(target, bytes))
    },
    moveTo: (next) => {
      if (writingTo !== target) closeQuietly(target)
      target = next
    },
  }
}

/** Writes synchronously. Use it for descriptors whose writes never block, so that no write is under way when the process ends. */
export const writeNow: Write = (descriptor, bytes, done) => {
  let count: number
  try {
    count = writeSync(descriptor, bytes)
  } catch (error) {
    return done(toError(error), 0)
  }
  done(null, count)
}

function closeQuietly(descriptor: number): void {
  try {
    closeSync(descriptor)
  } catch {
    // Some file systems report lost bytes only here. The descriptor is closed in any case.
  }
}

/** Returns a function that passes on an error, unless the previous call had an error too. */
function createReport(onError: (error: Error) => void): (error: Error | undefined) => void {
  let hasFailed = false
  return (error) => {
    if (error && !hasFailed) onError(new Error(`${error.message}; lines are lost`, { cause: error }))
    hasFailed = error !== undefined
  }
}

/** @returns the error that prevented writing all bytes, if any */
function writeAll(descriptor: number, bytes: Buffer): Error | undefined {
  let rest = bytes
  for (let waitedMs = 0; rest.length > 0; ) {
    try {
      rest = rest.subarray(writeSync(descriptor, rest))
    } catch (cause) {
      const error = toError(cause)
      if (!isFull(error) || waitedMs >= FLUSH_SYNC_MS) return error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS)
      waitedMs += RETRY_MS
    }
  }
}

/** Returns whether the error means that a pipe is full at the moment. */
function isFull(error: Error): boolean {
  return 'code' in error && error.code === 'EAGAIN'
}

function toError(cause: unknown): Error {
  return cause instanceof Error ? cause : new Error(String(cause))
}

/** Bytes in a queue, or a function to call when all bytes before it have left the queue. */
type Item = Buffer | (() => void)

interface ByteQueue {
  /** Adds a chunk. @returns `false` if the queue is full and the chunk is dropped */
  readonly add: (bytes: Buffer) => boolean
  readonly first: () => Buffer | undefined
  /** Removes bytes from the start of the first chunk, after they are written or given up. */
  readonly drop: (count: number) => void
  readonly takeAll: () => Buffer
  /** Removes and returns all bytes except the first chunk. */
  readonly takeRest: () => Buffer
  /** Resolves when everything that was added before this call has left the queue. */
  readonly passed: () => Promise<void>
}

/** Returns an empty queue of bytes. Chunks are written in order, and a chunk stays in the queue until all of it is written. */
export function createByteQueue(bytesMax: number): ByteQueue {
  let items: Item[] = []
  let length = 0
  const callPassed = (): void => {
    for (let item = items[0]; typeof item === 'function'; item = items[0]) {
      items.shift()
      item()
    }
  }
  const take = (kept: readonly Item[], taken: readonly Item[]): Buffer => {
    const bytes = Buffer.concat(taken.filter((item) => typeof item !== 'function'))
    items = [...kept, ...taken.filter((item) => typeof item === 'function')]
    length -= bytes.length
    callPassed()
    return bytes
  }
  return {
    add: (bytes: Buffer): boolean => {
      if (length >= bytesMax) return false
      items.push(bytes)
      length += bytes.length
      return true
    },
    first: (): Buffer | undefined => (typeof items[0] === 'function' ? undefined : items[0]),
    drop: (count: number): void => {
      const [first] = items
      if (typeof first !== 'object') return
      if (count < first.length) items[0] = first.subarray(count)
      else items.shift()
      length -= count
      callPassed()
    },
    takeAll: (): Buffer => take([], items),
    takeRest: (): Buffer => take(items.slice(0, 1), items.slice(1)),
    passed: (): Promise<void> =>
      new Promise((resolve) => {
        items.push(resolve)
        callPassed()
      }),
  }
}
