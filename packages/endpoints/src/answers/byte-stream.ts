/** A stream of bytes. `close` releases the source immediately. It may be called at any time, and more than once. */
export interface ByteStream {
  /** Resolves to the next bytes, or `undefined` at the end. */
  readonly next: () => Promise<Uint8Array | undefined>
  readonly close: () => void
  /** The length in bytes, if it is known in advance. */
  readonly length?: number | undefined
}

/** Reads a web stream as a byte stream. `length` is the number of bytes, if it is known. */
export function fromWebStream(stream: ReadableStream<Uint8Array>, length?: number): ByteStream {
  const reader = stream.getReader()
  const ignore = (): void => {}
  return {
    length,
    next: async () => {
      const { done, value } = await reader.read()
      return done ? undefined : toBytes(value)
    },
    close: () => void reader.cancel().catch(ignore),
  }
}

/**
 * Cuts a stream at its announced length. A file may grow while it is sent, and the client would read the additional bytes as the
 * next answer. A stream that is too short fails, so that no client treats it as complete.
 */
export function exactly(stream: ByteStream): ByteStream {
  const { length, close } = stream
  if (length === undefined) return stream
  let left = length
  const next = async (): Promise<Uint8Array | undefined> => {
    const bytes = left > 0 ? await stream.next() : undefined
    if (bytes === undefined) {
      close()
      if (left > 0) throw new RangeError(`a stream ended ${left} bytes before its announced length`)
      return undefined
    }
    const sent = bytes.subarray(0, left)
    left -= sent.byteLength
    return sent
  }
  return { length, next, close }
}

/** A stream of the values of an iterator, each encoded as bytes. `close` ends the iterator, so that its `finally` blocks run. */
export function fromIterator(
  iterator: AsyncIterator<unknown>,
  encode: (value: unknown) => string | Uint8Array,
  end: () => string = () => '',
): ByteStream {
  let ended = false
  const next = async (): Promise<Uint8Array | undefined> => {
    if (ended) return undefined
    const { done, value } = await iterator.next()
    if (!done) return toBytes(encode(value))
    ended = true
    const last = end()
    return last === '' ? undefined : toBytes(last)
  }
  // The answer is over. So an error that the iterator throws while it ends must not end the process.
  return { next, close: () => void new Promise((resolve) => resolve(iterator.return?.())).catch(() => {}) }
}

/** Reads the first bytes of a stream. If this fails, the server can still send an ordinary error answer. */
export async function readFirstBytes(stream: ByteStream): Promise<ByteStream> {
  let first = await readOrClose(stream)
  const next = async (): Promise<Uint8Array | undefined> => {
    const bytes = first
    if (bytes === undefined) return readOrClose(stream)
    first = undefined
    return bytes
  }
  return first === undefined ? { ...stream, next: async () => undefined } : { ...stream, next }
}

async function readOrClose(stream: ByteStream): Promise<Uint8Array | undefined> {
  try {
    return await stream.next()
  } catch (error) {
    stream.close()
    throw error
  }
}

/** Converts the stream to a web stream that reads no bytes ahead. */
export function toWebStream(stream: ByteStream): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const bytes = await stream.next()
        if (bytes === undefined) controller.close()
        else controller.enqueue(bytes)
      },
      cancel: stream.close,
    },
    { highWaterMark: 0 },
  )
}

const encoder = new TextEncoder()

/**
 * Converts a chunk of a stream to bytes. Text becomes UTF-8.
 * @throws TypeError for a value that is neither bytes nor text
 */
export function toBytes(chunk: unknown): Uint8Array {
  if (chunk instanceof Uint8Array) return chunk
  if (typeof chunk === 'string') return encoder.encode(chunk)
  throw new TypeError(`a stream of bytes yielded ${typeof chunk}`)
}
