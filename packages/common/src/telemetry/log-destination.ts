import { closeSync, openSync, write, writeSync } from 'node:fs'
import type { ByteSink } from './line-buffer.ts'

/** Never throws, and always ends: what cannot be written is dropped. */
export interface LogDestination extends ByteSink {
  /** Opens the file again, after somebody moved it. What it was given before goes to the moved one. */
  reopen(): Promise<void>
}

/** What to write to: an open descriptor, and the file's name where it is one. */
export interface LogTarget {
  readonly descriptor: number
  readonly file?: string | undefined
  /** Told of the first failure after a success. */
  readonly onError: (error: Error) => void
}

/** Of a target that takes nothing: beyond it lines are dropped, since a log must not fill the memory. */
const HELD_BYTES_MAX = 16 * 1024 * 1024
const RETRY_MS = 50
/** How long a flush waits for a reader that takes nothing. */
const FLUSH_MS = 1_000

/**
 * Writes bytes to a descriptor in the background, one piece after the other. pino's own never ends its `flushSync` when the
 * disk is full or the reader has gone: the process would neither serve nor stop.
 */
export function createLogDestination(target: LogTarget): LogDestination {
  let { descriptor } = target
  const held = new HeldBytes()
  let isWriting = false
  let hasFailed = false
  let tellIdle: (() => void)[] = []
  const fail = (error: unknown): void => {
    if (!hasFailed) target.onError(error instanceof Error ? error : new Error(String(error)))
    hasFailed = true
  }
  const writeHeld = (): void => {
    if (isWriting) return
    if (held.length === 0) {
      beIdle()
      return
    }
    isWriting = true
    const bytes = held.take()
    write(descriptor, bytes, (error, count) => {
      isWriting = false
      if (error && isFull(error)) {
        held.putBack(bytes)
        setTimeout(writeHeld, RETRY_MS).unref()
        return
      }
      if (error) fail(error)
      else {
        hasFailed = false
        held.putBack(bytes.subarray(count))
      }
      writeHeld()
    })
  }
  const beIdle = (): void => {
    for (const tell of tellIdle) tell()
    tellIdle = []
  }
  const flush = (): Promise<void> =>
    new Promise((resolve) => {
      const late = setTimeout(resolve, FLUSH_MS)
      tellIdle.push(() => {
        clearTimeout(late)
        resolve()
      })
      writeHeld()
    })
  return {
    write: (bytes) => {
      // A flush in the same turn still finds it here.
      if (held.length === 0) setImmediate(writeHeld)
      if (held.length < HELD_BYTES_MAX) held.put(bytes)
    },
    flush,
    flushSync: () => {
      try {
        writeAll(descriptor, held.take())
      } catch (error) {
        fail(error)
      }
    },
    reopen: async () => {
      if (target.file === undefined) return
      await flush()
      try {
        const old = descriptor
        descriptor = openSync(target.file, 'a')
        // What is still being written goes to the old file.
        setTimeout(closeSync, FLUSH_MS, old).unref()
      } catch (error) {
        fail(error)
      }
    },
  }
}

/** Bytes in the order in which they are to be written. */
class HeldBytes {
  #pieces: Buffer[] = []
  length = 0

  put(bytes: Buffer): void {
    this.#pieces.push(bytes)
    this.length += bytes.length
  }

  /** What was taken and not written, to be taken first. */
  putBack(bytes: Buffer): void {
    if (bytes.length === 0) return
    this.#pieces.unshift(bytes)
    this.length += bytes.length
  }

  take(): Buffer {
    const [first = Buffer.alloc(0), ...others] = this.#pieces
    this.#pieces = []
    this.length = 0
    return others.length === 0 ? first : Buffer.concat([first, ...others])
  }
}

function writeAll(descriptor: number, bytes: Buffer): void {
  let rest = bytes
  for (let waitedMs = 0; rest.length > 0; ) {
    try {
      rest = rest.subarray(writeSync(descriptor, rest))
    } catch (error) {
      if (!isFull(error) || waitedMs >= FLUSH_MS) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS)
      waitedMs += RETRY_MS
    }
  }
}

/** A pipe that is full for the moment. */
function isFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EAGAIN'
}
