import type { OutboundAnswer, OutboundRequest } from '@trestle/common/outbound/outbound.ts'
import { z } from 'zod'
import { answerUnreadable, FORM_TEXTS, objectNotFound } from '../errors.ts'

/** The services in the order of the pages. */
export const SERVICE_NAMES = ['auth', 'payments', 'inventory'] as const
export type ServiceName = (typeof SERVICE_NAMES)[number]

/** Parameters with the value `undefined` are omitted. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>

export interface ServiceCall {
  readonly service: ServiceName
  readonly method: OutboundRequest['method']
  /** Begins with a slash. External parts are encoded. */
  readonly path: string
  readonly query?: Query | undefined
  /** The body, sent as JSON. */
  readonly body?: Readonly<Record<string, unknown>> | undefined
  /** A file, sent while it arrives instead of JSON. */
  readonly file?: SentFile | undefined
  readonly headers: Readonly<Record<string, string>>
}

export interface SentFile {
  readonly type: string
  readonly bytes: AsyncIterable<Uint8Array>
}

export interface ServiceAnswer {
  readonly status: number
  /** The parsed JSON, or the text if it is not JSON. */
  readonly body: unknown
  /** The cursor of the next page, or `undefined` if there is none. */
  readonly next: string | undefined
  /** The version of the record for `If-Match`, or `undefined` if the service sends none. */
  readonly etag: string | undefined
}

/** Calls a service. Rejects with serviceUnavailable if the service does not answer or is unavailable. */
export type SendCall = (call: ServiceCall) => Promise<ServiceAnswer>

/** Opens a file of a service, which is read while it arrives. Rejects like `SendCall`. */
export type OpenFile = (call: Omit<ServiceCall, 'body' | 'file' | 'method'>) => Promise<OpenedFile>

/** A file of a service, or the reason why there is none. */
export type OpenedFile =
  | {
      readonly kind: 'file'
      /** The caller must read it to its end or destroy it. */
      readonly bytes: NodeJS.ReadableStream
      readonly type: string
      readonly disposition: string
    }
  | { readonly kind: 'refused'; readonly status: number }

/**
 * Returns the URL of a call with its query. Rejects paths that a URL parser would change: with `..` as the id of a session, the
 * path would identify the user of the session.
 * @throws objectNotFound for a path with a part that is empty, `.` or `..`
 */
export function urlOf(base: string, { path, query = {} }: Pick<ServiceCall, 'path' | 'query'>): string {
  const isAsGiven = new URL(`${base}${path}`).pathname === new URL(base).pathname.replace(/\/$/, '') + path
  if (!isAsGiven || /\/(?:\/|$)/.test(path)) refuseMissing()
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') given.set(name, String(value))
  }
  const text = given.toString()
  return `${base}${path}${text === '' ? '' : `?${text}`}`
}

export function refuseUnreadable(service: ServiceName, cause?: unknown): never {
  throw answerUnreadable({ service }, { cause })
}

export function refuseMissing(): never {
  throw objectNotFound()
}

/**
 * Requires a payments id in a path. Another text could select another route, such as `batches` instead of a payout.
 * @throws objectNotFound for any other text
 */
export function requirePaymentsId(text: string): string {
  return /^[0-9a-f]{24}$/i.test(text) ? text : refuseMissing()
}

/** Reads the JSON of an answer, the cursor in Link, and the ETag. @throws answerUnreadable for an invalid link */
export function readAnswer(service: ServiceName, answer: OutboundAnswer): ServiceAnswer {
  const { status, body, contentType, link, etag } = answer
  const isJson = /\bjson\b/i.test(contentType)
  return { status, body: isJson ? parse(service, body) : body, next: readNextCursor(service, link), etag }
}

/** @throws answerUnreadable if the body does not have the form of the route */
export function readBody<T>(service: ServiceName, schema: z.ZodType<T>, body: unknown): T {
  const read = schema.safeParse(body)
  if (!read.success) refuseUnreadable(service, read.error)
  return read.data
}

/** The answer of a route for a record: an object with this member. */
export function answerWith(member: string): z.ZodType {
  return z.looseObject({}).refine((body) => Object.hasOwn(body, member))
}

/** Only inventory promises the digits of numbers. This parser takes twenty times as long for user data with many numbers. */
function parse(service: ServiceName, body: string): unknown {
  try {
    return service === 'inventory' ? parseJson(body) : JSON.parse(body)
  } catch {
    return body
  }
}

/**
 * Parses JSON. If JavaScript would change a number, such as 12345678901234567890 or 0.10, the number keeps its text (inventory
 * reference: Numbers). `JSON.stringify` writes it unchanged.
 * @throws SyntaxError for other text
 */
export function parseJson(text: string): unknown {
  return JSON.parse(text, (_name, value: unknown, context?: { readonly source?: string }) => {
    const source = context?.source
    return typeof value === 'number' && source !== undefined && String(value) !== source ? JSON.rawJSON(source) : value
  })
}

/** Reads the cursor of `<https://…?cursor=C>; rel="next"`. */
function readNextCursor(service: ServiceName, link: string | undefined): string | undefined {
  for (const [, target = '', rest = ''] of link?.matchAll(/<([^>]*)>([^,]*)/g) ?? []) {
    if (!/;\s*rel="?next"?/i.test(rest)) continue
    const url = URL.parse(target, 'http://localhost')
    // Without an error here, the list would seem to have no more pages.
    if (url === null) refuseUnreadable(service)
    return url.searchParams.get('cursor') ?? undefined
  }
  return undefined
}

const FieldErrors = z.array(z.looseObject({ field: z.string(), message: z.string() })).min(1)
const PlainError = z.looseObject({ message: z.string(), code: z.string() })
const EnvelopeError = z.looseObject({
  error: z.looseObject({
    type: z.string(),
    description: z.string(),
    issues: z.array(z.looseObject({ path: z.string() })).optional(),
  }),
})

export interface Refusal {
  readonly code: string
  readonly message: string
  /** The invalid member of the body, such as `amount`, if the service states one. */
  readonly field?: string | undefined
}

/** Reads the error of any service (console reference: Errors of operators). */
export function readRefusal(body: unknown): Refusal {
  const fields = FieldErrors.safeParse(body)
  if (fields.success) {
    const message = fields.data.map(({ field, message: text }) => `${field}: ${text}`).join('. ')
    return { code: 'FIELDS', message, field: fields.data[0]?.field }
  }
  const envelope = EnvelopeError.safeParse(body)
  if (envelope.success) {
    const { type: code, description: message, issues } = envelope.data.error
    return { code, message, field: issues?.[0]?.path }
  }
  const plain = PlainError.safeParse(body)
  return plain.success ? plain.data : { code: 'UNKNOWN', message: FORM_TEXTS.unexplained }
}
