import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs'

const CHUNK_BYTES = 64 * 1024

/** The place in the file to begin at, and the function that gets each line. */
export interface FollowOptions {
  /** The first byte to read. */
  readonly from: number
  readonly onLine: (line: string) => void
}

/**
 * Makes a function that reads the lines that were appended to a file since its last call. A file that does not exist yet has
 * none. A file that became shorter, or was replaced, is read from its start.
 */
export function createFollower(file: string, { from, onLine }: FollowOptions): () => void {
  let place = { inode: statSync(file, { throwIfNoEntry: false })?.ino, offset: from }
  let rest: Buffer = Buffer.alloc(0)
  return () => {
    const now = statSync(file, { throwIfNoEntry: false })
    if (now && (now.ino !== place.inode || now.size < place.offset)) {
      place = { inode: now.ino, offset: 0 }
      rest = Buffer.alloc(0)
    }
    while (now && now.size > place.offset) {
      const read = readFrom(file, place.offset)
      // Meanwhile the file became shorter. The next call notices.
      if (read.length === 0) return
      place = { ...place, offset: place.offset + read.length }
      rest = passLines(Buffer.concat([rest, read]), onLine)
    }
  }
}

/** The last lines of a file, at most `count`, and its size. A file that does not exist has none. */
export function readLastLines(
  file: string,
  count: number,
): { readonly lines: readonly string[]; readonly size: number } {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0
  let text: Buffer = Buffer.alloc(0)
  // Read backwards: a log may be large.
  for (let start = size; start > 0 && countLines(text) <= count; ) {
    start = Math.max(0, start - CHUNK_BYTES)
    text = Buffer.concat([readFrom(file, start).subarray(0, size - text.length - start), text])
  }
  const lines = text
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '')
  return { lines: count === 0 ? [] : lines.slice(-count), size }
}

function countLines(text: Buffer): number {
  return text.reduce((count, byte) => (byte === 0x0a ? count + 1 : count), 0)
}

/** Passes on complete lines. @returns the bytes of the line that is not complete */
function passLines(bytes: Buffer, onLine: (line: string) => void): Buffer {
  const end = bytes.lastIndexOf(0x0a)
  if (end < 0) return bytes
  for (const line of bytes.subarray(0, end).toString('utf8').split('\n')) if (line !== '') onLine(line)
  return Buffer.from(bytes.subarray(end + 1))
}

/** At most one chunk of a file. */
function readFrom(file: string, offset: number): Buffer {
  const descriptor = openSync(file, 'r')
  try {
    const buffer = Buffer.alloc(Math.min(CHUNK_BYTES, Math.max(0, fstatSync(descriptor).size - offset)))
    return buffer.subarray(0, readSync(descriptor, buffer, 0, buffer.length, offset))
  } finally {
    closeSync(descriptor)
  }
}
