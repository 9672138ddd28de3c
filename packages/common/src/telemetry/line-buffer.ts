export interface ByteSink {
  /** Takes ownership of the bytes. The caller must not change them afterwards. */
  write(bytes: Buffer): unknown
  /** Resolves when all bytes are written or dropped, or after 5 s. */
  flush(): Promise<void>
  /** Writes all waiting bytes synchronously, at the end of the process. A write that is under way may finish later. */
  flushSync(): void
}

const BUFFER_BYTES = 65_536
/** The maximum number of UTF-8 bytes for one unit of a JavaScript string. */
const BYTES_PER_UNIT = 3
const WAIT_MS = 200

export interface LineBuffer {
  readonly write: (line: string) => void
  /** Passes all lines to the sinks and flushes the sinks. */
  readonly flush: () => Promise<void>
}

/**
 * Returns a buffer that collects up to 64 KiB of lines for at most 200 ms, and passes the same bytes to each sink. It converts
 * lines to bytes immediately, because pino's string trees were most of the work of garbage collections. pino's own buffer
 * recounts all its bytes for each line, which took longer than building the line at 16 KiB. Lines in the buffer are written when
 * the process ends, even after an error.
 * @param scrub removes secrets from one line; in several lines, one suspicious line would make it search all
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
    // Make a copy. Otherwise a slow sink would keep the whole buffer in memory for each short line.
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

const flushes = new Set<() => void>()

function flushAll(): void {
  for (const flush of flushes) flush()
}
