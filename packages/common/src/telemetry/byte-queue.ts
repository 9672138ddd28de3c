/** Bytes in the order in which they are to be written, piece by piece. A piece stays until all of it is written. */
export interface ByteQueue {
  /** Adds a piece. False: there is no room, the piece is dropped. */
  add(bytes: Buffer): boolean
  /** The piece to be written next. */
  first(): Buffer | undefined
  /** So many bytes of the first piece are written, or given up. */
  drop(count: number): void
  /** Takes all that is there, or all but the first piece. */
  takeAll(): Buffer
  takeRest(): Buffer
  /** Resolves when all that was added before has left the queue. */
  passed(): Promise<void>
}

/** What a queue holds: bytes, or whom to tell that all before has left. */
type Item = Buffer | (() => void)

export function createByteQueue(bytesMax: number): ByteQueue {
  let items: Item[] = []
  let length = 0
  const tell = (): void => {
    for (let item = items[0]; typeof item === 'function'; item = items[0]) {
      items.shift()
      item()
    }
  }
  const take = (kept: readonly Item[], taken: readonly Item[]): Buffer => {
    const bytes = Buffer.concat(taken.filter((item) => typeof item !== 'function'))
    items = [...kept, ...taken.filter((item) => typeof item === 'function')]
    length -= bytes.length
    tell()
    return bytes
  }
  return {
    add: (bytes) => {
      if (length >= bytesMax) return false
      items.push(bytes)
      length += bytes.length
      return true
    },
    first: () => (typeof items[0] === 'function' ? undefined : items[0]),
    drop: (count) => {
      const [first] = items
      if (typeof first !== 'object') return
      if (count < first.length) items[0] = first.subarray(count)
      else items.shift()
      length -= count
      tell()
    },
    takeAll: () => take([], items),
    takeRest: () => take(items.slice(0, 1), items.slice(1)),
    passed: () =>
      new Promise((resolve) => {
        items.push(resolve)
        tell()
      }),
  }
}
