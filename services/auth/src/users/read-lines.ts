/** A line of a file, and its number from 1. The bytes are null where the line is too long. */
export interface Line {
  readonly number: number
  readonly bytes: Buffer | null
}

const NEWLINE = 0x0a
/** The limit of a request's body. */
const BYTES_MAX = 1_048_576

/** Splits a stream of bytes into lines, and holds one line at most. Counts empty lines, and leaves them out. */
export async function* readLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Line> {
  let number = 0
  let size = 0
  let pieces: Buffer[] = []
  const add = (piece: Buffer): void => {
    size += piece.length
    if (size <= BYTES_MAX) pieces.push(piece)
    else pieces = []
  }
  const finish = (): Line => {
    const line = { number: ++number, bytes: size > BYTES_MAX ? null : Buffer.concat(pieces) }
    size = 0
    pieces = []
    return line
  }
  for await (const chunk of chunks) {
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      add(chunk.subarray(start, end))
      start = end + 1
      const line = finish()
      if (line.bytes === null || !isBlank(line.bytes)) yield line
    }
    add(chunk.subarray(start))
  }
  if (size > 0) yield finish()
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d)
}
