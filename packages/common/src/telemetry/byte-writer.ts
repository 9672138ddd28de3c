import { closeSync, write, writeSync } from 'node:fs'
import { createByteQueue } from './byte-queue.ts'
import type { ByteSink } from './line-buffer.ts'

/** Never throws, and always ends: what cannot be written is dropped. */
export interface ByteWriter extends ByteSink {
  /** Goes on in another descriptor, and closes the one before as soon as nothing is being written to it. */
  moveTo(descriptor: number): void
}

/** Of a target that takes nothing: beyond it lines are dropped, since a log must not fill the memory. */
const HELD_BYTES_MAX = 16 * 1024 * 1024
/** A pipe that is full is tried again after so long, then after twice as long each time, up to the longest. */
const RETRY_MS = 1
const RETRY_MS_MAX = 50
/** How long a flush waits for a reader. */
const FLUSH_MS = 5_000
const FLUSH_SYNC_MS = 1_000

/**
 * Writes bytes to a descriptor in the background, one piece after the other. pino's own never ends its `flushSync` when the
 * disk is full or the reader has gone: the process would neither serve nor stop. `onError` is told of the first failure
 * after a success.
 */
export function createByteWriter(descriptor: number, onError: (error: Error) => void): ByteWriter {
  const queue = createByteQueue(HELD_BYTES_MAX)
  const report = createReport(onError)
  let target = descriptor
  let writingTo: number | undefined
  let retry: NodeJS.Timeout | undefined
  let retryMs = RETRY_MS
  const writeFirst = (): void => {
    clearTimeout(retry)
    const bytes = queue.first()
    if (writingTo !== undefined || bytes === undefined) return
    const to = target
    writingTo = to
    write(to, bytes, (error, count) => {
      writingTo = undefined
      if (to !== target) closeSync(to)
      if (error && isFull(error)) {
        retry = setTimeout(writeFirst, retryMs).unref()
        retryMs = Math.min(2 * retryMs, RETRY_MS_MAX)
        return
      }
      report(error ?? undefined)
      retryMs = RETRY_MS
      queue.drop(error ? bytes.length : count)
      writeFirst()
    })
  }
  return {
    write: (bytes) => {
      // A flush in the same turn still finds it here.
      if (queue.first() === undefined) setImmediate(writeFirst)
      queue.add(bytes)
    },
    flush: async () => {
      writeFirst()
      const late = Promise.withResolvers<void>()
      const timer = setTimeout(late.resolve, FLUSH_MS)
      await Promise.race([queue.passed(), late.promise])
      clearTimeout(timer)
    },
    flushSync: () => {
      const bytes = writingTo === undefined ? queue.takeAll() : queue.takeRest()
      report(writeAll(target, bytes))
    },
    moveTo: (next) => {
      if (writingTo !== target) closeSync(target)
      target = next
    },
  }
}

/** Passes on an error unless the last time was one too. */
function createReport(onError: (error: Error) => void): (error: Error | undefined) => void {
  let hasFailed = false
  return (error) => {
    if (error && !hasFailed) onError(error)
    hasFailed = error !== undefined
  }
}

/** Returns what kept it from writing all. */
function writeAll(descriptor: number, bytes: Buffer): Error | undefined {
  let rest = bytes
  for (let waitedMs = 0; rest.length > 0; ) {
    try {
      rest = rest.subarray(writeSync(descriptor, rest))
    } catch (cause) {
      const error = cause instanceof Error ? cause : new Error(String(cause))
      if (!isFull(error) || waitedMs >= FLUSH_SYNC_MS) return error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS)
      waitedMs += RETRY_MS
    }
  }
}

/** A pipe that is full for the moment. */
function isFull(error: Error): boolean {
  return 'code' in error && error.code === 'EAGAIN'
}
