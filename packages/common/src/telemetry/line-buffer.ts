/** Where text is written to, such as a destination of pino. */
export interface TextSink {
  write(text: string): unknown
  /** Writes what it still holds before it returns. */
  flushSync(): void
}

/** Takes lines, and hands them on many at a time. */
export interface LineBuffer {
  write(line: string): void
  /** Hands on what is there and has it written. */
  flush(): void
}

const LENGTH_MAX = 65_536
const WAIT_MS = 200

/**
 * Collects lines up to 64 KiB, 200 ms at most, and gives each sink the same text. Pino's own buffer counts the bytes of all
 * it holds again with each line: at 16 KiB that took longer than making the line. `scrub` sees one line at a time: of many
 * together one has something that makes it look closer, at all of them. What is held when the process ends by itself, or
 * by an error, is still written.
 */
export function createLineBuffer(
  sinks: readonly TextSink[],
  scrub: (text: string) => string = (text) => text,
): LineBuffer {
  let text = ''
  let timer: NodeJS.Timeout | undefined
  const handOn = () => {
    clearTimeout(timer)
    timer = undefined
    if (text === '') return
    const held = text
    text = ''
    for (const sink of sinks) sink.write(held)
  }
  const buffer: LineBuffer = {
    write: (line) => {
      text += scrub(line)
      if (text.length >= LENGTH_MAX) handOn()
      else timer ??= setTimeout(handOn, WAIT_MS).unref()
    },
    flush: () => {
      handOn()
      for (const sink of sinks) sink.flushSync()
    },
  }
  if (buffers.size === 0) {
    // Before the listeners of the sinks, which take no more text after them.
    process.prependListener('beforeExit', flushAll)
    process.prependListener('exit', flushAll)
  }
  buffers.add(buffer)
  return buffer
}

/** All of the process, which ends once for all of them. */
const buffers = new Set<LineBuffer>()

function flushAll(): void {
  for (const buffer of buffers) buffer.flush()
}
