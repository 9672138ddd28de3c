import { constants, fstatSync, openSync } from 'node:fs'
import { createByteWriter } from './byte-writer.ts'
import type { ByteSink } from './line-buffer.ts'

/** Never throws, and always ends: what cannot be written is dropped. */
export interface LogDestination extends ByteSink {
  /** Opens the file again, after somebody moved it. What it was given before goes to the moved one. */
  reopen(): Promise<void>
}

/** What to write to: an open descriptor, or a file's name. */
export type LogTarget = { readonly descriptor: number } | { readonly file: string }

/**
 * Told of the first failure after a success.
 * @throws Error from the system when the file cannot be opened
 */
export function createLogDestination(target: LogTarget, onError: (error: Error) => void): LogDestination {
  if ('descriptor' in target) {
    return { ...createByteWriter(withoutBlocking(target.descriptor), onError), reopen: async () => {} }
  }
  const { moveTo, ...writer } = createByteWriter(openSync(target.file, 'a'), onError)
  return {
    ...writer,
    reopen: async () => {
      await writer.flush()
      try {
        moveTo(openSync(target.file, 'a'))
      } catch (error) {
        onError(error instanceof Error ? error : new Error(String(error)))
      }
    },
  }
}

/**
 * The same pipe, opened anew for writes that never wait: one that waits for a reader who takes nothing keeps the process
 * from ending. Whoever shares the pipe keeps writes that wait. A socket cannot be opened anew.
 */
function withoutBlocking(descriptor: number): number {
  try {
    if (!fstatSync(descriptor).isFIFO()) return descriptor
    return openSync(`/proc/self/fd/${descriptor}`, constants.O_WRONLY | constants.O_NONBLOCK)
  } catch {
    // Only Linux has these names, and there the pipe may be somebody else's.
    return descriptor
  }
}
