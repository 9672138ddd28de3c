import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Answer, isStream } from '../answers/answer.ts'
import { type ByteStream, toWebStream } from '../answers/byte-stream.ts'
import { type BodySource, ByteCollector, endedEarly, tooLarge } from '../body/body-source.ts'
import type { CallError } from '../errors.ts'
import type { ErrorLog, Incoming, RawRequest } from '../request/incoming.ts'

/** Returns the arguments of a `node:http` listener with their real types. The published types do not refer to Node.js. */
export function asNode(request: NodeRequest, response: NodeResponse): [IncomingMessage, ServerResponse] {
  return [request as IncomingMessage, response as ServerResponse]
}

/** Adapts a request of `node:http` to the framework. */
export class NodeIncoming implements Incoming {
  readonly method: string
  readonly target: string
  readonly mountDepth: number = 0
  readonly id: string | undefined
  readonly refusal: CallError | undefined
  readonly log: ErrorLog | undefined
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  #abort: AbortController | undefined

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.method = request.method ?? ''
    this.target = request.url ?? ''
    this.#request = request
    this.#response = response
  }

  get raw(): RawRequest {
    return { request: this.#request, extra: [this.#response] }
  }

  get body(): BodySource | undefined {
    const { headers, httpVersionMajor } = this.#request
    const { 'content-length': length, 'transfer-encoding': encoding } = headers
    // HTTP/2 can send a body without a header that announces it.
    const hasBody = length !== undefined || encoding !== undefined || httpVersionMajor > 1
    return hasBody ? nodeBody(this.#request, length) : undefined
  }

  header(name: string): string | undefined {
    const value = this.#request.headers[name]
    return Array.isArray(value) ? value.join(', ') : value
  }

  headers(): Headers {
    const headers = new Headers()
    const { rawHeaders } = this.#request
    for (let i = 1; i < rawHeaders.length; i += 2) {
      const { [i - 1]: name = '', [i]: value = '' } = rawHeaders
      // HTTP/2 has the parts of the request line among the headers, with names that begin with a colon. Skip them.
      if (!name.startsWith(':')) headers.append(name, value)
    }
    return headers
  }

  signal(): AbortSignal {
    if (this.#abort === undefined) {
      const abort = new AbortController()
      const end = (): void => {
        if (!this.#response.writableFinished) abort.abort()
      }
      if (this.#response.closed) end()
      else this.#response.once('close', end)
      this.#abort = abort
    }
    return this.#abort.signal
  }

  isAnswered(): boolean {
    return this.#response.headersSent
  }

  address(): string {
    return this.#request.socket.remoteAddress ?? ''
  }

  origin(): string {
    const secure = 'encrypted' in this.#request.socket && this.#request.socket.encrypted === true
    return `${secure ? 'https' : 'http'}://${this.header('host') ?? this.header(':authority') ?? 'localhost'}`
  }
}

/** Returns the body of a `node:http` request. If `contentLength` is `undefined`, the length is not known in advance. */
export function nodeBody(stream: IncomingMessage, contentLength: string | undefined): BodySource {
  return {
    length: contentLength === undefined ? undefined : Number(contentLength),
    read: (bytesMax) => readStream(stream, bytesMax),
    stream() {
      const iterator: AsyncIterator<Buffer> = stream.iterator({ destroyOnReturn: false })
      const next = async (): Promise<Uint8Array | undefined> => {
        const read = await iterator.next().catch((cause: unknown) => Promise.reject(endedEarly(cause)))
        return read.value
      }
      return toWebStream({ next, close: () => void iterator.return?.() })
    },
  }
}

function readStream(stream: IncomingMessage, bytesMax: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const collected = new ByteCollector()
    const stop = (error: Error): void => {
      stream.off('data', collect).pause()
      reject(error)
    }
    const collect = (chunk: Buffer): void => {
      collected.add(chunk)
      if (collected.size > bytesMax) stop(tooLarge(bytesMax))
    }
    stream.on('data', collect)
    stream.once('end', () => resolve(collected.bytes()))
    stream.once('error', (cause) => stop(endedEarly(cause)))
    stream.once('close', () => stop(endedEarly()))
    // The client may have disconnected before a guard admitted the request. The stream then emits no further event.
    if (stream.destroyed) stop(endedEarly())
  })
}

/**
 * Writes an answer. After 413 the connection closes, because the rest of the body is not read. It also closes if the client reads
 * no byte for `writeTimeoutMs` while bytes wait. With 0, this timeout is off.
 */
export function sendToNode(response: ServerResponse, { status, headers, body }: Answer, writeTimeoutMs: number): void {
  // The client has disconnected, or the handler has answered through the raw response.
  if (response.destroyed || response.headersSent) {
    if (isStream(body)) body.close()
    return
  }
  const closes = status === 413 && response.req.httpVersionMajor === 1
  response.writeHead(status, closes ? [...headers, 'connection', 'close'] : headers)
  if (writeTimeoutMs > 0) response.setTimeout(writeTimeoutMs, () => cutStalledClient(response))
  if (isStream(body)) void sendStream(body, response)
  else response.end(body)
}

/** Disconnects an idle client that has unread bytes. If a slow source causes the idle time, the client stays. */
function cutStalledClient(response: ServerResponse): void {
  const isWaiting = response.writableNeedDrain || (response.writableEnded && !response.writableFinished)
  if (isWaiting || response.writableLength > 0) response.destroy()
}

/** Sends a stream as fast as the client reads. Breaks the connection if the stream fails. */
async function sendStream(stream: ByteStream, response: ServerResponse): Promise<void> {
  response.once('close', stream.close)
  try {
    for (let bytes = await stream.next(); bytes !== undefined; bytes = await stream.next()) {
      if (response.destroyed) return
      if (!response.write(bytes)) await waitUntilWritable(response)
    }
    response.end()
  } catch {
    response.destroy()
  }
}

function waitUntilWritable(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done)
      resolve()
    }
    response.on('drain', done).on('close', done)
  })
}

/** The part of `IncomingMessage` that identifies it. With this type, the published types do not need those of Node.js. */
interface NodeRequest {
  readonly httpVersionMajor: number
  readonly rawHeaders: readonly string[]
  readonly url?: string | undefined
}

/** The part of `ServerResponse` that identifies it. */
interface NodeResponse {
  readonly headersSent: boolean
  readonly statusCode: number
  readonly writableFinished: boolean
}

/** A listener for `http.createServer` of Node.js. */
export type NodeListener = (request: NodeRequest, response: NodeResponse) => Promise<void>
