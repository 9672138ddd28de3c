import { fromWebStream, toWebStream } from '../answers/byte-stream.ts'
import { PROBLEM_TEXTS } from '../error-texts.ts'
import { CallError } from '../errors.ts'

/** The body of a request from an interface. It can be read only once. */
export interface BodySource {
  /** The length in bytes, from `Content-Length`. `undefined` without this header. */
  readonly length: number | undefined
  /** @throws CallError 413 if the body has more than `bytesMax` bytes */
  readonly read: (bytesMax: number) => Promise<Uint8Array>
  readonly stream: () => ReadableStream<Uint8Array>
}

/** Returns the error 413 for a body of more than `bytesMax` bytes. */
export function tooLarge(bytesMax: number): CallError {
  return new CallError(413, PROBLEM_TEXTS.bodyTooLarge({ max: bytesMax }))
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Decodes UTF-8 without a byte order mark.
 * @throws CallError 400 for invalid bytes. Replacing them would store a text that the client did not send.
 */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch (cause) {
    throw notUtf8(cause)
  }
}

export function notUtf8(cause?: unknown): CallError {
  return new CallError(400, PROBLEM_TEXTS.bodyNotUtf8, { cause })
}

/** Returns the error for a client that disconnected while it sent the body. This is not a fault of the application. */
export function endedEarly(cause?: unknown): CallError {
  return cause instanceof CallError ? cause : new CallError(400, PROBLEM_TEXTS.bodyEndedEarly, { cause })
}

/** The body of a web `Request`. `contentLength` is the header as it was sent: a number of bytes, or `null` if it is absent. */
export function webBody(stream: ReadableStream<Uint8Array>, contentLength: string | null): BodySource {
  const length = contentLength === null ? undefined : Number(contentLength)
  return { length, stream: () => stream, read: (bytesMax) => readStream(stream, bytesMax) }
}

async function readStream(stream: ReadableStream<Uint8Array>, bytesMax: number): Promise<Uint8Array> {
  const reader = stream.getReader()
  const read = () => reader.read().catch((cause: unknown) => Promise.reject(endedEarly(cause)))
  const collected = new ByteCollector()
  for (let next = await read(); !next.done; next = await read()) {
    collected.add(next.value)
    if (collected.size > bytesMax) {
      await reader.cancel()
      throw tooLarge(bytesMax)
    }
  }
  return collected.bytes()
}

/** Returns a stream that fails with 413 after more than `bytesMax` bytes. */
export function limitedStream(stream: ReadableStream<Uint8Array>, bytesMax: number): ReadableStream<Uint8Array> {
  if (bytesMax === Number.POSITIVE_INFINITY) return stream
  const { next, close } = fromWebStream(stream)
  let left = bytesMax
  return toWebStream({
    close,
    next: async () => {
      const bytes = await next()
      left -= bytes?.byteLength ?? 0
      if (left >= 0) return bytes
      close()
      throw tooLarge(bytesMax)
    },
  })
}

/** Collects chunks in one growing buffer. In a list, each chunk of one byte would occupy an object of a hundred bytes. */
export class ByteCollector {
  #buffer: Uint8Array = new Uint8Array()
  #size = 0

  get size(): number {
    return this.#size
  }

  add(chunk: Uint8Array): void {
    const size = this.#size + chunk.byteLength
    // The first chunk is nearly always the only one, so it is not copied.
    if (this.#size === 0) {
      this.#buffer = chunk
    } else {
      if (size > this.#buffer.byteLength) {
        const grown = new Uint8Array(Math.max(size, 2 * this.#buffer.byteLength))
        grown.set(this.#buffer.subarray(0, this.#size))
        this.#buffer = grown
      }
      this.#buffer.set(chunk, this.#size)
    }
    this.#size = size
  }

  bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#size)
  }
}
