import { styleText } from 'node:util'
import { z } from 'zod'

/** The members of log lines that are shown in places of their own (docs/observability.md, Logs). */
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

/** A line of a log for the terminal, and whether it tells of an error. */
export interface ShownLine {
  readonly text: string
  /** A request that was refused or failed, a warning, or worse. */
  readonly isError: boolean
  /** When it was written, as in the log. Undefined for a line that does not say. */
  readonly time: string | undefined
}

const NAME_WIDTH = 10
const METHOD_WIDTH = 7
const colours = { auth: 'cyan', payments: 'magenta', inventory: 'blue' } as const
const REQUEST_ERROR = 400
const SERVER_ERROR = 500
const POSTGRES_TIME = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d\.\d+) UTC \[\d+\] /
/** Members that every line of a service has, or that say the same as others. */
const hidden: ReadonlySet<string> = new Set([...Object.keys(LogLine.shape), 'component', 'request_id', 'err'])

/** The lines that a service logs when the stack asks during a start whether it is ready, many times a second. */
const ASKED_EARLY = 'The process is starting'

/**
 * Formats a line of the log of a service: one line a request. A line that is no JSON is shown as it is. Undefined for lines that
 * the stack itself causes when it asks whether a service is ready.
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

/** `POST   /token  400  12 ms  invalid_credentials` */
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

/** `warn    The process is starting  error_code=…` */
function messageText({ level, msg, error_code, ...others }: LogLine): string {
  const details = [error_code === undefined ? '' : `error_code=${error_code}`, detailsOf(others)]
  const words = [
    styleText(levelStyle(level), level.padEnd(METHOD_WIDTH)),
    msg,
    styleText('dim', details.join(' ').trim()),
  ]
  return words.filter((word) => word !== '').join('  ')
}

/** Members that are short, and of an error its message and the first place in our sources. */
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

/** A text in which paths begin in the checkout, the working directory of the stack. */
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

/** The local time, to the second, and the name of the service in its colour. */
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
