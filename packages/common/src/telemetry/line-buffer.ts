/** Where lines are written to. */
export interface ByteSink {
  /** The bytes are its own from then on. */
  write(bytes: Buffer): unknown
  /** Resolves when all it was given is written or dropped, or after 5 s. */
  flush(): Promise<void>
  /** Writes what it still holds before it returns; what is being written to a file may come after. For the end of the process. */
  flushSync(): void
}

/** Takes lines, and hands them on many at a time. */
export interface LineBuffer {
  write(line: string): void
  /** Hands on what is there, and has the sinks flush it. */
  flush(): Promise<void>
}

const SIZE = 65_536
/** UTF-8 needs no more bytes for a unit of a JavaScript string. */
const BYTES_PER_UNIT = 3
const WAIT_MS = 200

/**
 * Collects lines up to 64 KiB, 200 ms at most, and gives each sink the same bytes. They are bytes from the first: pino makes
 * a line as a tree of its pieces, and the trees of all held lines were most of what each collection of garbage had to move.
 * Pino's own buffer counts the bytes of all it holds again with each line: at 16 KiB that took longer than making the line.
 * `scrub` sees one line at a time: of many together one has something that makes it look closer, at all of them. What is
 * held when the process ends by itself, or by an error, is still written.
 */
export function createLineBuffer(
  sinks: readonly ByteSink[],
  scrub: (text: string) => string = (text) => text,
): LineBuffer {
  const held = Buffer.allocUnsafeSlow(SIZE)
  let length = 0
  let timer: NodeJS.Timeout | undefined
  const handOn = () => {
    clearTimeout(timer)
    timer = undefined
    if (length === 0) return
    // A copy: a slow sink would keep all of `held` for each short line.
    const bytes = Buffer.from(held.subarray(0, length))
    length = 0
    for (const sink of sinks) sink.write(bytes)
  }
  const add = (line: string) => {
    if (line.length * BYTES_PER_UNIT > SIZE - length) handOn()
    if (line.length * BYTES_PER_UNIT <= SIZE) length += held.write(line, length)
    else for (const sink of sinks) sink.write(Buffer.from(line))
  }
  const buffer: LineBuffer = {
    write: (line) => {
      add(scrub(line))
      if (length > 0) timer ??= setTimeout(handOn, WAIT_MS).unref()
    },
    flush: async () => {
      handOn()
      await Promise.all(sinks.map((sink) => sink.flush()))
    },
  }
  if (flushes.size === 0) process.on('exit', flushAll)
  flushes.add(() => {
    handOn()
    for (const sink of sinks) sink.flushSync()
  })
  return buffer
}

/** Of all buffers of the process, which ends once for all of them. */
const flushes = new Set<() => void>()

function flushAll(): void {
  for (const flush of flushes) flush()
}
