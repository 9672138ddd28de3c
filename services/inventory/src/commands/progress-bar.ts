const WIDTH = 30

/** Shows how much of a file has passed. */
export interface ProgressBar {
  /** Passes bytes on, and counts them. */
  readonly watch: (source: AsyncIterable<Uint8Array>) => AsyncGenerator<Uint8Array, void>
  /** @param rows how many there were so far */
  readonly show: (rows: number) => void
  /** Ends the line. May be called more than once. */
  readonly end: () => void
}

/**
 * Returns a bar that shows the progress of a file on a terminal. Writes nothing to other outputs.
 * @param bytesTotal undefined when the size is not known
 */
export function createProgressBar(
  terminal: Pick<NodeJS.WriteStream, 'isTTY' | 'write'>,
  bytesTotal: number | undefined,
): ProgressBar {
  let bytes = 0
  let isOpen = false
  const draw = (rows?: number): void => {
    if (!terminal.isTTY) return
    isOpen = true
    terminal.write(`\r${renderProgress(bytes, bytesTotal)}${rows === undefined ? '' : `  ${rows} products`}`)
  }
  return {
    async *watch(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
      for await (const piece of source) {
        bytes += piece.byteLength
        if (bytesTotal === undefined) draw()
        yield piece
      }
    },
    show: (rows: number): void => draw(rows),
    end: (): void => {
      if (isOpen) terminal.write('\n')
      isOpen = false
    },
  }
}

/** `[#######---] 70 %`, or the number of bytes when the total is not known. */
export function renderProgress(bytes: number, bytesTotal: number | undefined): string {
  if (bytesTotal === undefined) return `${(bytes / 1_048_576).toFixed(1)} MiB`
  const share = bytesTotal === 0 ? 1 : Math.min(1, bytes / bytesTotal)
  const filled = Math.round(share * WIDTH)
  return `[${'#'.repeat(filled)}${'-'.repeat(WIDTH - filled)}] ${String(Math.floor(share * 100)).padStart(3)} %`
}
