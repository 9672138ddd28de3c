export interface ByteSink {
  /** Takes the bytes over: the caller must not change them afterwards. */
  write(bytes: Buffer): unknown
  /** Resolves when all bytes are written or dropped, or after 5 s. */
  flush(): Promise<void>
  /** Writes all waiting bytes before it returns, at the end of the process. A write that is under way may finish later. */
  flushSync(): void
}

const BUFFER_BYTES = 65_536
/** Most bytes of UTF-8 for one unit of a JavaScript string. */
const BYTES_PER_UNIT = 3
const WAIT_MS = 200

/** A buffer of lines that all sinks share. */
export interface LineBuffer {
  readonly write: (line: string) => void
  /** Passes on all lines, and flushes the sinks. */
  readonly flush: () => Promise<void>
}

/**
 * Returns a buffer that collects lines up to 64 KiB for at most 200 ms, and gives each sink the same bytes. Lines become bytes
 * at once: pino makes a line as a tree of pieces, and these trees were most of what each garbage collection had to move. pino's
 * own buffer counts all bytes that it holds again with each line: at 16 KiB that took longer than making the line. Lines that
 * are held when the process ends, even by an error, are still written.
 * @param scrub gets one line at a time. If it got many, one suspicious line would make it search all of them
 */
export function createLineBuffer(
  sinks: readonly ByteSink[],
  scrub: (text: string) => string = (text) => text,
): LineBuffer {
  const held = Buffer.allocUnsafeSlow(BUFFER_BYTES)
  let length = 0
  let timer: NodeJS.Timeout | undefined
  const passOn = () => {
    clearTimeout(timer)
    timer = undefined
    if (length === 0) return
    // A copy: otherwise a slow sink would keep the whole buffer for each short line.
    const bytes = Buffer.from(held.subarray(0, length))
    length = 0
    for (const sink of sinks) sink.write(bytes)
  }
  const add = (line: string) => {
    if (line.length * BYTES_PER_UNIT > BUFFER_BYTES - length) passOn()
    if (line.length * BYTES_PER_UNIT <= BUFFER_BYTES) length += held.write(line, length)
    else for (const sink of sinks) sink.write(Buffer.from(line))
  }
  const buffer = {
    write: (line: string): void => {
      add(scrub(line))
      if (length > 0) timer ??= setTimeout(passOn, WAIT_MS).unref()
    },
    flush: async (): Promise<void> => {
      passOn()
      await Promise.all(sinks.map((sink) => sink.flush()))
    },
  }
  if (flushes.size === 0) process.on('exit', flushAll)
  flushes.add(() => {
    passOn()
    for (const sink of sinks) sink.flushSync()
  })
  return buffer
}

/** The flushes of all buffers of the process. */
const flushes = new Set<() => void>()

function flushAll(): void {
  for (const flush of flushes) flush()
}
