import { badRequest, requestTimeout } from '../errors.ts'

const SILENCE_MS = 30_000

/**
 * The body of a request as it comes.
 * @throws requestTimeout when nothing comes for 30 s, badRequest when the client goes away
 */
export async function* requestBytes(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await withPatience(reader.read())
      if (done) return
      yield value
    }
  } finally {
    // What is left is nobody's business any more.
    await reader.cancel().catch(() => {})
  }
}

function withPatience<T>(reading: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(requestTimeout()), SILENCE_MS)
    reading.then(
      (piece) => {
        clearTimeout(timer)
        resolve(piece)
      },
      (cause: unknown) => {
        clearTimeout(timer)
        reject(badRequest({ message: 'The body ended early.', cause }))
      },
    )
  })
}
