import { type Answer, buildAnswer, isStream } from '../answers/answer.ts'
import { type ByteStream, exactly, fromWebStream, readFirstBytes } from '../answers/byte-stream.ts'
import { type Encoded, encode, isAsyncIterable } from '../answers/encode.ts'
import { isWebResponse, type ResponseState } from '../answers/response-state.ts'
import type { Controller } from '../controller.ts'
import type { Core } from '../core.ts'
import type { EndpointRequest } from '../request/endpoint-request.ts'
import type { Incoming } from '../request/incoming.ts'
import type { Resolution } from '../routing/resolve.ts'
import type { Endpoint, Route } from '../routing/table.ts'
import type { Target } from '../routing/target.ts'

/**
 * Converts a value to an answer. `route` is absent for the answer to an error. @throws TypeError for a function, a symbol, a
 * circular object or a header that cannot be sent, RangeError for a status that cannot be sent
 */
export function encodeCall(call: Call, value: unknown, route?: Route): Answer | Promise<Answer> {
  if (isWebResponse(value)) {
    const { status, body } = copyFetched(call, value)
    return buildEncoded(call, status, { type: undefined, body })
  }
  if (isIterator(value)) return encodeBegun(call, [...value], route)
  if (!isAsyncIterable(value)) return encodeBegun(call, value, route)
  const iterator = value[Symbol.asyncIterator]()
  return begin(iterator, call.incoming.signal()).then((begun) => encodeBegun(call, begun, route))
}

/** Encodes a value. If a generator produced the value, it has already run to its first `yield` and has set its headers. */
function encodeBegun(call: Call, value: unknown, route: Route | undefined): Answer | Promise<Answer> {
  const { response, core } = call
  const status = response.status ?? route?.status ?? (value === undefined ? 204 : 200)
  const encoded = encode(value, {
    type: response.type ?? route?.type,
    extensionType: route?.extensionType,
    stringify: core.settings.json.stringify,
  })
  if (encoded instanceof Promise) return encoded.then((awaited) => buildEncoded(call, status, awaited))
  return buildEncoded(call, status, encoded)
}

function isIterator(value: unknown): value is IterableIterator<unknown> {
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return false
  return 'next' in value && typeof value.next === 'function' && Symbol.iterator in value
}

/** Runs an iterator up to its first value. Returns an iterator that begins with this value. */
async function begin(iterator: AsyncIterator<unknown>, signal: AbortSignal): Promise<AsyncIterableIterator<unknown>> {
  const leave = (): void => void new Promise((resolve) => resolve(iterator.return?.())).catch(() => {})
  if (signal.aborted) leave()
  else signal.addEventListener('abort', leave, { once: true })
  try {
    return new BegunIterator(iterator, await iterator.next())
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

/** An iterator whose first value has already been read. */
class BegunIterator implements AsyncIterableIterator<unknown> {
  readonly #iterator: AsyncIterator<unknown>
  #first: IteratorResult<unknown> | undefined

  constructor(iterator: AsyncIterator<unknown>, first: IteratorResult<unknown>) {
    this.#iterator = iterator
    this.#first = first
  }

  async next(): Promise<IteratorResult<unknown>> {
    const first = this.#first
    this.#first = undefined
    return first ?? this.#iterator.next()
  }

  async return(): Promise<IteratorResult<unknown>> {
    this.#first = undefined
    return (await this.#iterator.return?.()) ?? { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}

function buildEncoded(call: Call, status: number, encoded: Encoded): Answer | Promise<Answer> {
  const { requestIdHeader } = call.core.settings
  const answer = buildAnswer({ status, requestIdHeader, requestId: call.request.id }, encoded, call.response)
  const { body } = answer
  const isHead = call.incoming.method === 'HEAD'
  if (!isStream(body)) return isHead ? { ...answer, body: undefined } : answer
  const signal = call.incoming.signal()
  // Until the first bytes arrive, this function closes the source if the client disconnects. Afterwards the interface closes it.
  if (signal.aborted) body.close()
  else signal.addEventListener('abort', body.close, { once: true })
  return readFirstBytes(exactly(body)).then((begun) => {
    if (!isHead) return { ...answer, body: reportFailures(call, begun) }
    // HEAD has the same status as GET, so its stream must begin. An error would have been the answer.
    begun.close()
    return { ...answer, body: undefined }
  })
}

/** Uses a web `Response` as the answer. Its headers replace the headers of the controller. */
function copyFetched({ response }: Call, fetched: Response) {
  const { status, headers, body } = fetched
  const announced = headers.get('content-length') ?? ''
  const decoded = isDecoded(fetched)
  const length = /^\d+$/.test(announced) && !decoded ? Number(announced) : undefined
  for (const name of new Set(headers.keys())) if (name !== 'set-cookie') response.headers.delete(name)
  for (const [name, value] of headers) {
    if (!ofConnection.has(name) && !(decoded && name === 'content-encoding')) response.headers.append(name, value)
  }
  return { status, body: body === null ? undefined : fromWebStream(body, length) }
}

/** Headers of the connection over which the response was fetched. They do not apply to the client's connection. */
const ofConnection = new Set(['connection', 'keep-alive', 'proxy-connection', 'te', 'transfer-encoding', 'upgrade'])

/**
 * Returns whether `fetch` has decoded the body of a `Response`. The headers then still describe the encoded body. A response that
 * the application created has no URL, and its headers describe its bytes.
 */
function isDecoded({ url, headers }: Response): boolean {
  const codings = headers.get('content-encoding')
  if (url === '' || codings === null) return false
  return codings.split(',').every((coding) => isDecodedByFetch(coding.trim().toLowerCase()))
}

/** Returns whether `fetch` decodes a content coding. It leaves a body with any other coding unchanged. */
function isDecodedByFetch(coding: string): boolean {
  if (coding !== 'zstd') return /^(?:x-gzip|gzip|deflate|br)$/.test(coding)
  // The `fetch` of Node.js before version 24 does not decode zstd.
  const version = typeof process === 'undefined' ? undefined : process.versions?.undici
  return version === undefined || Number.parseInt(version, 10) >= 7
}

/** Logs an error that occurs after the answer has begun. The interface then closes the connection. */
function reportFailures(call: Call, stream: ByteStream): ByteStream {
  const next = async (): Promise<Uint8Array | undefined> => {
    try {
      return await stream.next()
    } catch (error) {
      // After the client has disconnected, do not log an error of the source.
      if (!call.incoming.signal().aborted) report(call, error)
      throw error
    }
  }
  return { ...stream, next }
}

export interface Call {
  readonly core: Core
  readonly incoming: Incoming
  readonly target: Target
  readonly resolution: Resolution | undefined
  readonly request: EndpointRequest
  readonly response: ResponseState
  /** Created when the handler is called, or when `onError` of its class is needed. */
  controller: Controller | undefined
}

/** The endpoint of the path, even if the endpoint does not accept the verb. Returns `undefined` if the path has no endpoint. */
export function endpointOf(resolution: Resolution | undefined): Endpoint | undefined {
  return resolution !== undefined && 'endpoint' in resolution ? resolution.endpoint : undefined
}

/** Logs a defect or an outage with `onFault`, otherwise with the log of the server or of the application. */
export function report({ core, incoming, request }: Call, error: unknown): void {
  if (incoming.signal().aborted && isCutOff(error)) return
  const { onFault } = core.settings
  const log = incoming.log ?? core.log
  if (onFault !== undefined) onFault(error, request)
  else log(error, `${request.method} ${request.path} failed (request ${request.id})`)
  core.listeners.emit('error', error, request)
}

/** Whether an error only reports that the work was aborted. After the client has disconnected, such an error is not logged. */
function isCutOff(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return error.name === 'AbortError' || ('code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE')
}
