import { constants, fstatSync, openSync } from 'node:fs'
import { type ByteWriter, createByteWriter, writeNow } from './byte-writer.ts'
import type { ByteSink } from './line-buffer.ts'

/** Never throws. What cannot be written is dropped. */
export interface LogDestination extends ByteSink {
  /** Opens the file again, after somebody moved it. What it was given before goes to the moved one, unless that takes 5 s. */
  reopen(): Promise<void>
}

/** What to write to: an open descriptor, or a file's name. */
export type LogTarget = { readonly descriptor: number } | { readonly file: string }

type OnError = (error: Error) => void

/**
 * `onError` is told when lines begin to be lost, and when a file cannot be opened again.
 * @throws Error from the system when the file cannot be opened
 */
export function createLogDestination(target: LogTarget, onError: OnError): LogDestination {
  if ('descriptor' in target) return { ...writerOf(target.descriptor, onError), reopen: async () => {} }
  const { moveTo, ...writer } = openWriter(target.file, onError)
  return {
    ...writer,
    reopen: async () => {
      await writer.flush()
      try {
        moveTo(open(target.file))
      } catch (error) {
        onError(error instanceof Error ? error : new Error(String(error)))
      }
    },
  }
}

/** A pipe is opened anew; whoever shares it keeps writes that wait. A socket cannot be. */
function writerOf(descriptor: number, onError: OnError): ByteWriter {
  try {
    if (fstatSync(descriptor).isFIFO()) return openWriter(`/proc/self/fd/${descriptor}`, onError)
  } catch {
    // Only Linux has these names, and there the pipe may be somebody else's.
  }
  return createByteWriter(descriptor, onError)
}

function openWriter(file: string, onError: OnError): ByteWriter {
  const descriptor = open(file)
  return createByteWriter(descriptor, onError, fstatSync(descriptor).isFIFO() ? writeNow : undefined)
}

/** Writes to a pipe do not wait then: a reader who takes nothing would keep the process from ending. A file is as ever. */
function open(file: string): number {
  return openSync(file, constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NONBLOCK)
}
