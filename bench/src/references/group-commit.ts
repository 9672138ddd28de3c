interface Waiting<Item, Result> {
  readonly item: Item
  readonly listener: PromiseWithResolvers<Result | undefined>
}

const BATCHES_MAX = 2
const BATCH_SIZE_MAX = 128

/** Sends items in batches while two are under way, each key at most once a batch. */
export function createGroupCommit<Item extends { readonly id: string }, Result extends { readonly id: string }>(
  run: (items: readonly Item[]) => Promise<readonly Result[]>,
): (item: Item) => Promise<Result | undefined> {
  let waiting: Waiting<Item, Result>[] = []
  let batches = 0
  const fly = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = new Map<string, Waiting<Item, Result>>()
      const left: Waiting<Item, Result>[] = []
      for (const entry of waiting) {
        if (batch.size < BATCH_SIZE_MAX && !batch.has(entry.item.id)) batch.set(entry.item.id, entry)
        else left.push(entry)
      }
      waiting = left
      try {
        const results = new Map((await run([...batch.values()].map(({ item }) => item))).map((each) => [each.id, each]))
        for (const [id, { listener }] of batch) listener.resolve(results.get(id))
      } catch (error) {
        for (const { listener } of batch.values()) listener.reject(error)
      }
    }
    batches -= 1
  }
  return (item) => {
    const listener = Promise.withResolvers<Result | undefined>()
    waiting.push({ item, listener })
    if (batches < BATCHES_MAX) {
      batches += 1
      setImmediate(() => void fly())
    }
    return listener.promise
  }
}
