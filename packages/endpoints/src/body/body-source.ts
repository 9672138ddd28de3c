import { CallError } from '../errors.ts'

/** The body of a request, as an interface hands it over. It can be taken once. */
export interface BodySource {
  /** From `Content-Length`; undefined where only the end will tell. */
  readonly length: number | undefined
  /** @throws CallError 413 when there are more bytes than `limit`. */
  readonly read: (limit: number) => Promise<Uint8Array>
  readonly stream: () => ReadableStream<Uint8Array>
}

export function tooLarge(limit: number): CallError {
  return new CallError(413, `The body is larger than ${limit} bytes`)
}

/** The client went away in the middle: no fault of the application's. */
export function endedEarly(cause?: unknown): CallError {
  return cause instanceof CallError ? cause : new CallError(400, 'The body ended early', { cause })
}

/** The body of a web `Request`. */
export function webBody(stream: ReadableStream<Uint8Array>, contentLength: string | null): BodySource {
  const length = contentLength === null ? undefined : Number(contentLength)
  return { length, stream: () => stream, read: (limit) => readStream(stream, limit) }
}

async function readStream(stream: ReadableStream<Uint8Array>, limit: number): Promise<Uint8Array> {
  const reader = stream.getReader()
  const read = () => reader.read().catch((cause: unknown) => Promise.reject(endedEarly(cause)))
  const chunks: Uint8Array[] = []
  let size = 0
  for (let next = await read(); !next.done; next = await read()) {
    size += next.value.byteLength
    if (size > limit) {
      await reader.cancel()
      throw tooLarge(limit)
    }
    chunks.push(next.value)
  }
  return concatenate(chunks, size)
}

export function concatenate(chunks: readonly Uint8Array[], size: number): Uint8Array {
  const [first] = chunks
  if (first !== undefined && chunks.length === 1) return first
  const bytes = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.byteLength
  }
  return bytes
}
