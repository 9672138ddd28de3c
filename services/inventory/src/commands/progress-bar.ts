/** Shows on a terminal how far something has come; elsewhere nothing. */
export interface ProgressBar {
  /** Passes bytes on, and counts them. */
  watch(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void>
  /** @param rows how many there were so far */
  show(rows: number): void
  /** Leaves the line. May be called again. */
  end(): void
}

const WIDTH = 30

/** @param bytesTotal undefined where the end is not known */
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
    async *watch(source) {
      for await (const piece of source) {
        bytes += piece.byteLength
        if (bytesTotal === undefined) draw()
        yield piece
      }
    },
    show: draw,
    end: () => {
      if (isOpen) terminal.write('\n')
      isOpen = false
    },
  }
}

/** `[#######---] 70 %`, or the number of bytes where the total is not known. */
export function renderProgress(bytes: number, bytesTotal: number | undefined): string {
  if (bytesTotal === undefined) return `${(bytes / 1_048_576).toFixed(1)} MiB`
  const share = bytesTotal === 0 ? 1 : Math.min(1, bytes / bytesTotal)
  const filled = Math.round(share * WIDTH)
  return `[${'#'.repeat(filled)}${'-'.repeat(WIDTH - filled)}] ${String(Math.floor(share * 100)).padStart(3)} %`
}
