import { closeSync, write as writeInBackground, writeSync } from 'node:fs'
import { createByteQueue } from './byte-queue.ts'
import type { ByteSink } from './line-buffer.ts'

/** Never throws. What cannot be written is dropped. */
export interface ByteWriter extends ByteSink {
  /** Goes on in another descriptor, and closes the one before as soon as nothing is being written to it. */
  moveTo(descriptor: number): void
}

/** Writes some of the bytes, and tells how many. */
export type Write = (descriptor: number, bytes: Buffer, done: (error: Error | null, count: number) => void) => void

/** Of a target that takes nothing: beyond it lines are dropped, since a log must not fill the memory. */
const HELD_BYTES_MAX = 16 * 1024 * 1024
/** A pipe that is full is tried again after so long, then after twice as long each time, up to the longest. */
const RETRY_MS = 1
const RETRY_MS_MAX = 50
/** How long a flush waits for a reader. */
const FLUSH_MS = 5_000
const FLUSH_SYNC_MS = 1_000

/**
 * Writes bytes to a descriptor, one piece after the other. pino's own never ends its `flushSync` when the disk is full or the
 * reader has gone: the process would neither serve nor stop. `onError` is told of the first failure after a success, and when
 * bytes are dropped for the first time since all were written.
 */
export function createByteWriter(
  descriptor: number,
  onError: (error: Error) => void,
  write: Write = writeInBackground,
): ByteWriter {
  const queue = createByteQueue(HELD_BYTES_MAX)
  const report = createReport(onError)
  const reportRoom = createReport(onError)
  let target = descriptor
  let writingTo: number | undefined
  let retryMs = RETRY_MS
  const writeFirst = (): void => {
    const bytes = queue.first()
    if (writingTo !== undefined || bytes === undefined) return
    const to = target
    writingTo = to
    write(to, bytes, (error, count) => {
      writingTo = undefined
      if (to !== target) closeQuietly(to)
      if (error && isFull(error)) {
        setTimeout(writeFirst, retryMs).unref()
        retryMs = Math.min(2 * retryMs, RETRY_MS_MAX)
        return
      }
      report(error ?? undefined)
      retryMs = RETRY_MS
      queue.drop(error ? bytes.length : count)
      setImmediate(writeFirst)
    })
  }
  return {
    write: (bytes) => {
      const isEmpty = queue.first() === undefined
      // A flush in the same turn still finds it here.
      if (isEmpty) setImmediate(writeFirst)
      if (!queue.add(bytes)) reportRoom(new Error('16 MiB wait to be written'))
      else if (isEmpty) reportRoom(undefined)
    },
    flush: async () => {
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
      if (writingTo !== target) closeQuietly(target)
      target = next
    },
  }
}

/** For a descriptor whose writes never wait: nothing is under way when the process ends. */
export const writeNow: Write = (descriptor, bytes, done) => {
  let count: number
  try {
    count = writeSync(descriptor, bytes)
  } catch (error) {
    return done(toError(error), 0)
  }
  done(null, count)
}

function closeQuietly(descriptor: number): void {
  try {
    closeSync(descriptor)
  } catch {
    // Some file systems tell only now that bytes are lost; the descriptor is closed all the same.
  }
}

/** Passes on an error unless the last time was one too. */
function createReport(onError: (error: Error) => void): (error: Error | undefined) => void {
  let hasFailed = false
  return (error) => {
    if (error && !hasFailed) onError(new Error(`${error.message}; lines are lost`, { cause: error }))
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
      const error = toError(cause)
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

function toError(cause: unknown): Error {
  return cause instanceof Error ? cause : new Error(String(cause))
}
