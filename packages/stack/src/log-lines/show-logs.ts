import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { styleText } from 'node:util'
import { z } from 'zod'

interface LogsOptions {
  readonly directory: string
  /** The names of the logs: services, and `postgres`. */
  readonly names: readonly string[]
  /** Whether to show only errors. */
  readonly onlyErrors: boolean
  readonly say: (line: string) => void
}

/** The minimum number of lines read from each log, before lines are filtered. */
const SEARCHED_LINES = 2_000

/**
 * Shows the newest lines of several logs, ordered by time.
 *
 * @returns the size of each log after the read, from which the log can be followed
 */
export function showLastLines(
  { directory, names, onlyErrors, say }: LogsOptions,
  count: number,
): ReadonlyMap<string, number> {
  const sizes = new Map<string, number>()
  const shown = names.flatMap((name) => {
    const { lines, size } = readLastLines(fileOf(directory, name), count === 0 ? 0 : Math.max(count, SEARCHED_LINES))
    sizes.set(name, size)
    return withTimes(lines.flatMap((line) => formatLine(name, line) ?? [])).filter(
      ({ isError }) => isError || !onlyErrors,
    )
  })
  const sorted = shown.toSorted((a, b) => Number(a.time > b.time) - Number(a.time < b.time))
  for (const { text } of count === 0 ? [] : sorted.slice(-count)) say(text)
  return sizes
}

/** Shows the lines that are added to logs. */
export interface LogFollower {
  /** Shows the lines that were added since the last call. */
  showNew(): void
  /** Shows lines as they are written, until `stop` aborts. */
  showAll(stop: AbortSignal): Promise<void>
}

const POLL_MS = 200

/** Creates a follower of logs. @param from the first byte to show of each log; by default its start */
export function followLogs(
  { directory, names, onlyErrors, say }: LogsOptions,
  from: ReadonlyMap<string, number>,
): LogFollower {
  const followers = names.map((name) =>
    createFollower(fileOf(directory, name), {
      from: from.get(name) ?? 0,
      onLine: (line) => {
        const shown = formatLine(name, line)
        if (shown && (shown.isError || !onlyErrors)) say(shown.text)
      },
    }),
  )
  const showNew = (): void => {
    for (const follow of followers) follow()
  }
  const showAll = async (stop: AbortSignal): Promise<void> => {
    while (!stop.aborted) {
      showNew()
      await delay(POLL_MS, undefined, { signal: stop }).catch(() => undefined)
    }
  }
  return { showNew, showAll }
}

/** Gives each line a time. A line without a time gets the time of the line before it. */
function withTimes(lines: readonly ShownLine[]): readonly (ShownLine & { readonly time: string })[] {
  let last = ''
  return lines.map((line) => {
    last = line.time ?? last
    return { ...line, time: last }
  })
}

function fileOf(directory: string, name: string): string {
  return join(directory, `${name}.log`)
}

const CHUNK_BYTES = 64 * 1024

interface FollowOptions {
  /** The offset at which to begin, in bytes. */
  readonly from: number
  readonly onLine: (line: string) => void
}

/**
 * Returns a function that reads the lines added to a file since its last call. A missing file has no lines. A file that has
 * become shorter or was replaced is read from its start.
 */
function createFollower(file: string, { from, onLine }: FollowOptions): () => void {
  let place = { inode: statSync(file, { throwIfNoEntry: false })?.ino, offset: from }
  let rest: Buffer = Buffer.alloc(0)
  return () => {
    const now = statSync(file, { throwIfNoEntry: false })
    if (now && (now.ino !== place.inode || now.size < place.offset)) {
      place = { inode: now.ino, offset: 0 }
      rest = Buffer.alloc(0)
    }
    while (now && now.size > place.offset) {
      const read = readFrom(file, place.offset)
      // The file has become shorter since its size was read. The next call handles this.
      if (read.length === 0) return
      place = { ...place, offset: place.offset + read.length }
      rest = passLines(Buffer.concat([rest, read]), onLine)
    }
  }
}

/** Returns the last lines of a file, at most `count`, and the size of the file. A missing file has no lines. */
export function readLastLines(
  file: string,
  count: number,
): { readonly lines: readonly string[]; readonly size: number } {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0
  let text: Buffer = Buffer.alloc(0)
  // Read backwards, because a log may be large.
  for (let start = size; start > 0 && countLines(text) <= count; ) {
    start = Math.max(0, start - CHUNK_BYTES)
    text = Buffer.concat([readFrom(file, start).subarray(0, size - text.length - start), text])
  }
  const lines = text
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '')
  return { lines: count === 0 ? [] : lines.slice(-count), size }
}

function countLines(text: Buffer): number {
  return text.reduce((count, byte) => (byte === 0x0a ? count + 1 : count), 0)
}

/** Passes on complete lines. @returns the bytes of the last, incomplete line */
function passLines(bytes: Buffer, onLine: (line: string) => void): Buffer {
  const end = bytes.lastIndexOf(0x0a)
  if (end < 0) return bytes
  for (const line of bytes.subarray(0, end).toString('utf8').split('\n')) if (line !== '') onLine(line)
  return Buffer.from(bytes.subarray(end + 1))
}

/** Reads at most one chunk of a file. */
function readFrom(file: string, offset: number): Buffer {
  const descriptor = openSync(file, 'r')
  try {
    const buffer = Buffer.alloc(Math.min(CHUNK_BYTES, Math.max(0, fstatSync(descriptor).size - offset)))
    return buffer.subarray(0, readSync(descriptor, buffer, 0, buffer.length, offset))
  } finally {
    closeSync(descriptor)
  }
}

/** The members of log lines that have a fixed place in the output (docs/observability.md, Logs). */
const LogLine = z.looseObject({
  time: z.string(),
  level: z.string(),
  msg: z.string(),
  method: z.string().optional(),
  path: z.string().optional(),
  route: z.string().optional(),
  status: z.number().optional(),
  duration_ms: z.number().optional(),
  error_code: z.string().optional(),
})
type LogLine = z.output<typeof LogLine>

/** A log line for the terminal. */
interface ShownLine {
  readonly text: string
  /** Whether the line is about a refused or failed request, or is a warning or worse. */
  readonly isError: boolean
  /** The time of the line, as in the log. `undefined` if the line has none. */
  readonly time: string | undefined
}

const NAME_WIDTH = 10
const METHOD_WIDTH = 7
const colours = { auth: 'cyan', payments: 'magenta', inventory: 'blue' } as const
const REQUEST_ERROR = 400
const SERVER_ERROR = 500
const POSTGRES_TIME = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d\.\d+) UTC \[\d+\] /
/** Members that every line has, or that repeat other members. */
const hidden: ReadonlySet<string> = new Set([...Object.keys(LogLine.shape), 'component', 'request_id', 'err'])

/** The message of the log lines that a service writes when the stack polls its readiness during a start, many times a second. */
const ASKED_EARLY = 'The process is starting'

/**
 * Formats a log line of a service. Each request has one line. A line that is not JSON is shown unchanged. Returns `undefined` for
 * lines that the stack itself causes by polling whether a service is ready.
 */
export function formatLine(service: string, line: string): ShownLine | undefined {
  const parsed = parse(line)
  if (parsed === undefined) return formatText(service, line)
  return parsed.msg === ASKED_EARLY ? undefined : formatEntry(service, parsed)
}

function formatEntry(service: string, entry: LogLine): ShownLine {
  const isRequest = entry.msg === 'request' && entry.status !== undefined
  const isError = isRequest ? (entry.status ?? 0) >= REQUEST_ERROR : !['info', 'debug'].includes(entry.level)
  const text = isRequest ? requestText(entry) : messageText(entry)
  return { text: `${prefix(service, entry.time)} ${text}`, isError, time: entry.time }
}

/** Formats the line of a request: `POST   /token  400  12 ms  invalid_credentials` */
function requestText({ method = '', path = '', status = 0, duration_ms, error_code, ...others }: LogLine): string {
  const words = [
    method.padEnd(METHOD_WIDTH),
    path,
    styleText(statusStyle(status), String(status)),
    ...(duration_ms === undefined ? [] : [styleText('dim', `${Math.round(duration_ms)} ms`)]),
    ...(error_code === undefined ? [] : [styleText('yellow', error_code)]),
    ...(status >= SERVER_ERROR ? [detailsOf(others)] : []),
  ]
  return words.filter((word) => word !== '').join('  ')
}

/** Formats the line of a message: `warn    The process is starting  error_code=…` */
function messageText({ level, msg, error_code, ...others }: LogLine): string {
  const details = [error_code === undefined ? '' : `error_code=${error_code}`, detailsOf(others)]
  const words = [
    styleText(levelStyle(level), level.padEnd(METHOD_WIDTH)),
    msg,
    styleText('dim', details.join(' ').trim()),
  ]
  return words.filter((word) => word !== '').join('  ')
}

/** Returns the short members of a line. Of an error, returns the message and the first place in the project's own source code. */
function detailsOf(members: Readonly<Record<string, unknown>>): string {
  const words = Object.entries(members).flatMap(([name, value]) => {
    if (hidden.has(name) || value === null || value === undefined) return []
    if (Array.isArray(value)) return [`${name}=${value.length}`]
    return typeof value === 'object' ? [] : [`${name}=${value}`]
  })
  return [...words, errorText(members.err)].filter((word) => word !== '').join(' ')
}

function errorText(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('message' in error)) return ''
  const stack = 'stack' in error ? String(error.stack) : ''
  const [, place = ''] = /\(?(?:file:\/\/)?(\/(?:(?!node_modules)[^\s()])+:\d+):\d+\)?$/m.exec(stack) ?? []
  return `${error.message}${place === '' ? '' : ` (${withoutCheckout(place)})`}`
}

/** Returns a text in which paths are relative to the checkout. The checkout is the working directory of the stack. */
function withoutCheckout(text: string): string {
  const checkout = `${process.cwd()}/`
  return text.replaceAll(`file://${checkout}`, '').replaceAll(checkout, '')
}

function formatText(service: string, line: string): ShownLine {
  const [start = '', day, clock] = POSTGRES_TIME.exec(line) ?? []
  const time = day === undefined ? undefined : `${day}T${clock}Z`
  const isError = time === undefined || / (?:ERROR|FATAL|PANIC|WARNING): /.test(line)
  return { text: `${prefix(service, time)} ${withoutCheckout(line.slice(start.length))}`, isError, time }
}

/** Returns the local time to the second, and the coloured name of the service. */
function prefix(service: string, time: string | undefined): string {
  const shown = time === undefined ? ' '.repeat(8) : new Date(time).toTimeString().slice(0, 8)
  const colour = Object.entries(colours).find(([name]) => name === service)?.[1] ?? 'dim'
  return `${styleText('dim', shown)} ${styleText(colour, service.padEnd(NAME_WIDTH))}`
}

function statusStyle(status: number): 'green' | 'yellow' | 'red' {
  if (status >= SERVER_ERROR) return 'red'
  return status >= REQUEST_ERROR ? 'yellow' : 'green'
}

function levelStyle(level: string): 'dim' | 'yellow' | 'red' {
  if (level === 'info' || level === 'debug') return 'dim'
  return level === 'warn' ? 'yellow' : 'red'
}

function parse(line: string): LogLine | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    return LogLine.safeParse(JSON.parse(line)).data
  } catch {
    return undefined
  }
}
