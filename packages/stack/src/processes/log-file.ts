import { closeSync, fstatSync, openSync, readSync, renameSync, statSync } from 'node:fs'

/** Above this size the log of earlier starts is put aside, so that two files bound what a service can fill. */
const ROTATE_BYTES = 32 * 1024 * 1024
const TAIL_BYTES = 16 * 1024

/** A log that a child process appends to, and the size it had before. */
export interface OpenLog {
  readonly file: string
  readonly descriptor: number
  readonly startBytes: number
}

/** Opens a log for appending. A large one of earlier starts becomes `<file>.old`. */
export function openLog(file: string): OpenLog {
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > ROTATE_BYTES) renameSync(file, `${file}.old`)
  const descriptor = openSync(file, 'a', 0o600)
  return { file, descriptor, startBytes: fstatSync(descriptor).size }
}

/** The last lines written since the log was opened, at most `lineLimit`, without empty ones. */
export function readTail(log: Omit<OpenLog, 'descriptor'>, lineLimit: number): readonly string[] {
  const descriptor = openSync(log.file, 'r')
  try {
    const size = fstatSync(descriptor).size
    const from = Math.max(log.startBytes, size - TAIL_BYTES)
    const buffer = Buffer.alloc(Math.max(0, size - from))
    readSync(descriptor, buffer, 0, buffer.length, from)
    const lines = buffer.toString('utf8').split('\n')
    return lines.filter((line) => line.trim() !== '').slice(-lineLimit)
  } finally {
    closeSync(descriptor)
  }
}
