import { closeSync, write as writeInBackground, writeSync } from 'node:fs'
import type { ByteSink } from './line-buffer.ts'

/** Never throws: what cannot be written is dropped. */
export interface ByteWriter extends ByteSink {
  /** Writes to another descriptor from now on, and closes the old one as soon as no write to it is under way. */
  moveTo(descriptor: number): void
}

/** Writes some of the bytes. `done` gets their number. */
export type Write = (descriptor: number, bytes: Buffer, done: (error: Error | null, count: number) => void) => void

/** Bytes that may wait for a target that takes none. Further lines are dropped: a log must not fill the memory. */
const HELD_BYTES_MAX = 16 * 1024 * 1024
/** When a pipe is full, the write is tried again after this time, which doubles each time up to the longest. */
const RETRY_MS = 1
const RETRY_MS_MAX = 50
/** How long a flush waits for a reader. */
const FLUSH_MS = 5_000
const FLUSH_SYNC_MS = 1_000

/**
 * Writes bytes to a descriptor, one piece after the other, and gives up after a time. pino's own `flushSync` has no time limit:
 * a process that waits for it neither serves nor stops.
 * @param onError called at the first failure after a success, and when bytes are dropped for the first time
 * since all were written
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
      // A flush in the same turn of the event loop still finds the bytes here.
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

/** For a descriptor whose writes never block: no write is under way when the process ends. */
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
    // Some file systems report lost bytes only here. The descriptor is closed in any case.
  }
}

/** Creates a report that passes on an error unless the previous call had one too. */
function createReport(onError: (error: Error) => void): (error: Error | undefined) => void {
  let hasFailed = false
  return (error) => {
    if (error && !hasFailed) onError(new Error(`${error.message}; lines are lost`, { cause: error }))
    hasFailed = error !== undefined
  }
}

/** @returns the error that kept it from writing all bytes, if any */
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

/** Whether a pipe is full at the moment. */
function isFull(error: Error): boolean {
  return 'code' in error && error.code === 'EAGAIN'
}

function toError(cause: unknown): Error {
  return cause instanceof Error ? cause : new Error(String(cause))
}

/** Bytes in a queue, or a function to call when all bytes before it have left. */
type Item = Buffer | (() => void)

/** Bytes that wait to be written. */
export interface ByteQueue {
  /** Adds a piece. @returns false when the queue is full and the piece is dropped */
  readonly add: (bytes: Buffer) => boolean
  /** The piece that is written next. */
  readonly first: () => Buffer | undefined
  /** Removes bytes from the start of the first piece, once they are written or given up. */
  readonly drop: (count: number) => void
  /** Removes all bytes. */
  readonly takeAll: () => Buffer
  /** Removes all bytes but the first piece. */
  readonly takeRest: () => Buffer
  /** Resolves when everything that was added before has left the queue. */
  readonly passed: () => Promise<void>
}

/** Returns an empty queue of bytes, which are written piece by piece. A piece stays until all of it is written. */
export function createByteQueue(bytesMax: number): ByteQueue {
  let items: Item[] = []
  let length = 0
  const callPassed = (): void => {
    for (let item = items[0]; typeof item === 'function'; item = items[0]) {
      items.shift()
      item()
    }
  }
  const take = (kept: readonly Item[], taken: readonly Item[]): Buffer => {
    const bytes = Buffer.concat(taken.filter((item) => typeof item !== 'function'))
    items = [...kept, ...taken.filter((item) => typeof item === 'function')]
    length -= bytes.length
    callPassed()
    return bytes
  }
  return {
    add: (bytes: Buffer): boolean => {
      if (length >= bytesMax) return false
      items.push(bytes)
      length += bytes.length
      return true
    },
    first: (): Buffer | undefined => (typeof items[0] === 'function' ? undefined : items[0]),
    drop: (count: number): void => {
      const [first] = items
      if (typeof first !== 'object') return
      if (count < first.length) items[0] = first.subarray(count)
      else items.shift()
      length -= count
      callPassed()
    },
    takeAll: (): Buffer => take([], items),
    takeRest: (): Buffer => take(items.slice(0, 1), items.slice(1)),
    passed: (): Promise<void> =>
      new Promise((resolve) => {
        items.push(resolve)
        callPassed()
      }),
  }
}
