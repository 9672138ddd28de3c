import type { Settings } from '../config/settings.ts'
import { CallError, ValidationError } from '../errors.ts'
import type { EndpointRequest } from '../request/endpoint-request.ts'
import { type ByteStream, toWebStream } from './byte-stream.ts'
import { type Body, type Encoded, JSON_TYPE } from './encode.ts'
import type { ResponseState } from './response-state.ts'

/** An answer that an interface can send. */
export interface Answer {
  readonly status: number
  /** Alternating lower-case names and values. */
  readonly headers: string[]
  readonly body: Body
}

/** The parts of an answer, without the body, before its headers are composed. */
interface AnswerHead {
  readonly status: number
  readonly requestIdHeader: string
  readonly requestId: string
}

/** Returns whether a body is sent in chunks. Strings and bytes are sent as a whole. */
export function isStream(body: Body): body is ByteStream {
  return typeof body === 'object' && !(body instanceof Uint8Array)
}

/**
 * Builds an answer from an encoded value.
 * @throws TypeError for a header that cannot be sent, RangeError for a status that cannot be sent
 */
export function buildAnswer(head: AnswerHead, encoded: Encoded, state: ResponseState): Answer {
  const { status } = head
  const { body } = encoded
  let sends = false
  try {
    const headers = buildHeaders(head, encoded, state)
    sends = !hasNoBody(status)
    return { status, headers, body: sends ? body : undefined }
  } finally {
    if (!sends && isStream(body)) body.close()
  }
}

function buildHeaders(head: AnswerHead, { type, body }: Encoded, { setHeaders }: ResponseState): string[] {
  const { status, requestIdHeader, requestId } = head
  if (!Number.isInteger(status) || status < 200 || status > 599) throw new RangeError(`${status} is not a status`)
  const headers: string[] = []
  if (type !== undefined && !hasNoBody(status) && !setHeaders?.has('content-type')) {
    headers.push('content-type', type === JSON_TYPE ? type : sendable('content-type', type))
  }
  const length = hasNoBody(status) ? undefined : bodyLength(body)
  if (length !== undefined) headers.push('content-length', String(length))
  // The statuses 204 and 304 imply that no body follows. The status 205 does not.
  else if (status === 205) headers.push('content-length', '0')
  if (!setHeaders?.has(requestIdHeader)) headers.push(requestIdHeader, requestId)
  if (setHeaders === undefined) return headers
  for (const [name, value] of setHeaders) if (name !== 'content-length') headers.push(name, sendable(name, value))
  return headers
}

/** Servers write characters beyond ASCII as Latin-1, as UTF-8 or not at all, so refuse them. */
const unsendable = /[^\t\x20-\x7e]/

function sendable(name: string, value: string): string {
  if (unsendable.test(value)) throw new TypeError(`the header ${name} holds a character that is not printable ASCII`)
  return value
}

function hasNoBody(status: number): boolean {
  return status === 204 || status === 205 || status === 304
}

/** Converts an answer to a `Response` of the Fetch Standard, with the same status, headers and bytes. */
export function toResponse({ status, headers, body }: Answer): Response {
  const payload = isStream(body) ? toWebStream(body) : (body ?? null)
  return new Response(payload, { status, headers: headersInit(headers) })
}

/** Returns a plain object, which servers read fastest. If a name is repeated, returns a list of pairs. */
function headersInit(headers: readonly string[]): Record<string, string> | [string, string][] {
  const byName: Record<string, string> = {}
  const pairs: [string, string][] = []
  for (let i = 1; i < headers.length; i += 2) {
    const { [i - 1]: name = '', [i]: value = '' } = headers
    byName[name] = value
    pairs.push([name, value])
  }
  return Object.keys(byName).length === pairs.length ? byName : pairs
}

const encoder = new TextEncoder()
const textLength: (text: string) => number =
  typeof Buffer === 'undefined' ? (text) => encoder.encode(text).byteLength : (text) => Buffer.byteLength(text)

function bodyLength(body: Body): number | undefined {
  if (body === undefined) return 0
  if (typeof body === 'string') return textLength(body)
  return body instanceof Uint8Array ? body.byteLength : body.length
}

/**
 * Returns the error that a client sees for a thrown value. This is the value itself if it is a `CallError`, otherwise a 500. The
 * 500 contains the cause only if the option `exposeErrors` is set.
 */
export function toCallError(thrown: unknown, { exposeErrors }: Pick<Settings, 'exposeErrors'>): CallError {
  if (thrown instanceof CallError) return thrown
  const shown = exposeErrors ? String((thrown instanceof Error && thrown.stack) || thrown) : undefined
  return new CallError(500, shown, { cause: thrown })
}

/** Returns the body of an error: its own body, the body of the option `errorBody`, or the envelope. */
export function errorBody(error: CallError, request: EndpointRequest, settings: Settings): unknown {
  if (error.body !== undefined) return error.body
  return settings.errorBody === undefined ? errorEnvelope(error) : settings.errorBody(error, request)
}

/** Returns `{ statusCode, error: { type, description } }`. For a `ValidationError`, `error` also has its issues. */
export function errorEnvelope(error: CallError): object {
  const { status, type, message } = error
  const issues = error instanceof ValidationError ? { issues: error.issues } : {}
  return { statusCode: status, error: { type, description: message, ...issues } }
}

/** Returns whether a status means a defect or an outage, which is logged. The client causes a 501. */
export function isFault(status: number): boolean {
  return status >= 500 && status !== 501
}
