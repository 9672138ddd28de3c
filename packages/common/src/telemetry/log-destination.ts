import { closeSync, openSync, write, writeSync } from 'node:fs'
import type { ByteSink } from './line-buffer.ts'

/** Never throws, and always ends: what cannot be written is dropped. */
export interface LogDestination extends ByteSink {
  /** Opens the file again, after somebody moved it. */
  reopen(): void
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
/** How long a flush waits for a pipe that is full. */
const FULL_PIPE_MS = 1_000

/**
 * Writes bytes to a descriptor in the background, one piece after the other. pino's own never ends its `flushSync` when the
 * disk is full or the reader has gone: the process would neither serve nor stop.
 */
export function createLogDestination(target: LogTarget): LogDestination {
  let { descriptor } = target
  let held: Buffer[] = []
  let heldBytes = 0
  let isWriting = false
  let hasFailed = false
  const succeed = (): void => {
    hasFailed = false
  }
  const fail = (error: Error): void => {
    if (!hasFailed) target.onError(error)
    hasFailed = true
  }
  const takeHeld = (): Buffer => {
    const [first = Buffer.alloc(0), ...others] = held
    held = []
    heldBytes = 0
    return others.length === 0 ? first : Buffer.concat([first, ...others])
  }
  const writeHeld = (): void => {
    if (isWriting || heldBytes === 0) return
    isWriting = true
    writeOn(takeHeld())
  }
  const writeOn = (bytes: Buffer): void => {
    write(descriptor, bytes, (error, count) => {
      if (error && isFull(error)) return void setTimeout(writeOn, RETRY_MS, bytes).unref()
      if (error) fail(error)
      else succeed()
      if (!error && count < bytes.length) return writeOn(bytes.subarray(count))
      isWriting = false
      writeHeld()
    })
  }
  const flushSync = (): void => {
    try {
      writeAll(descriptor, takeHeld())
    } catch (error) {
      fail(error instanceof Error ? error : new Error(String(error)))
    }
  }
  return {
    write: (bytes) => {
      // A flush in the same turn still finds it here.
      if (heldBytes === 0) setImmediate(writeHeld)
      if (heldBytes >= HELD_BYTES_MAX) return
      held.push(bytes)
      heldBytes += bytes.length
    },
    flushSync,
    reopen: () => {
      if (target.file === undefined) return
      flushSync()
      try {
        const old = descriptor
        descriptor = openSync(target.file, 'a')
        // What is being written goes to the old file.
        setTimeout(closeSync, FULL_PIPE_MS, old).unref()
      } catch (error) {
        fail(error instanceof Error ? error : new Error(String(error)))
      }
    },
  }
}

function writeAll(descriptor: number, bytes: Buffer): void {
  let rest = bytes
  for (let waitedMs = 0; rest.length > 0; ) {
    try {
      rest = rest.subarray(writeSync(descriptor, rest))
    } catch (error) {
      if (!isFull(error) || waitedMs >= FULL_PIPE_MS) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS)
      waitedMs += RETRY_MS
    }
  }
}

/** A pipe that is full for the moment. */
function isFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EAGAIN'
}
