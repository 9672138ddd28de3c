import { AsyncLocalStorage } from 'node:async_hooks'

/** How to run items, which items may share a batch, and the error of items that wait too long. */
export interface GroupCommitOptions<Item, Result> {
  /**
   * Runs items with different keys in one database transaction. If it throws, none of them has an effect.
   * @returns a result for each item, in the same order
   */
  readonly carryOut: (items: readonly Item[]) => Promise<readonly Result[]>
  /** Items with the key of a running item wait, because they would wait for the same lock. By default none waits. */
  readonly keyOf?: (item: Item) => string
  /** Returns whether an item may share a batch with the first item of the batch. By default, every item may. */
  readonly fits?: (item: Item, first: Item) => boolean
  /** Returns whether an error means that nothing was written and that the items may succeed one by one. */
  readonly isWorthRepeating: (error: unknown) => boolean
  readonly sizeMax: number
  /** The error of an item that is refused unwritten: too many items wait, or this item has waited too long. */
  readonly tooMany: () => Error
}

interface Waiting<Item, Result> {
  readonly item: Item
  readonly key: string | undefined
  readonly arrivedMs: number
  readonly listener: PromiseWithResolvers<Result>
  /** Runs a function in the async context in which the item was added, so that it belongs to the trace of that request. */
  readonly within: ReturnType<typeof AsyncLocalStorage.snapshot>
}

/** Batches in the database at the same time. The second starts only if it is at least as large as the first. */
const BATCHES_MAX = 2
/** After this time in milliseconds, a running batch delays only items with its keys. */
const SLOW_MS = 100
/** Running batches, including slow ones: half of the write pool, so that other requests keep the other half. */
const UNDER_WAY_MAX = 8
const WAITING_MAX = 4_096
/** The longest time that an item waits, in milliseconds. A pool waits for a connection equally long. */
const WAIT_MS_MAX = 5_000

/** Sends the items of this process to the database in batches. */
export interface GroupCommit<Item, Result> {
  /** @throws the error of `tooMany`, or the error of `carryOut` */
  readonly add: (item: Item) => Promise<Result>
}

/**
 * Returns a group commit. Items that arrive while batches are in the database go together into the next batch. If no batch is
 * running, an item is sent immediately. Several processes change the same rows, so batches must not be needed for correctness.
 */
export function createGroupCommit<Item, Result>(options: GroupCommitOptions<Item, Result>): GroupCommit<Item, Result> {
  type Entry = Waiting<Item, Result>
  const waiting = createWaitingList(options)
  /** Batches in the database that are not slow yet. An item that is repeated alone is a batch of its own. */
  const fast = new Set<readonly Entry[]>()
  /** Items of failed batches, which run one by one before all other items. */
  const repeated: Entry[] = []
  let underWay = 0
  let isScheduled = false

  /** A second batch must be as large as the first. Splitting a batch in two is slow, as most cost is per batch. */
  const mayStart = (): boolean => {
    if (underWay >= UNDER_WAY_MAX) return false
    const [first] = fast
    return first === undefined || (fast.size < BATCHES_MAX && waiting.count() >= first.length)
  }
  const start = (): void => {
    waiting.refuseLate()
    while (underWay < UNDER_WAY_MAX && repeated.length > 0) void run(repeated.splice(0, 1))
    while (mayStart()) {
      const batch = waiting.takeBatch()
      if (batch.length === 0) return
      void run(batch)
    }
  }
  const run = async (batch: readonly Entry[]): Promise<void> => {
    fast.add(batch)
    underWay += 1
    const freeSlot = () => {
      fast.delete(batch)
      start()
    }
    const slow = setTimeout(freeSlot, SLOW_MS)
    const outcome = await runBatch(batch, options)
    clearTimeout(slow)
    underWay -= 1
    if (outcome === 'repeat') repeated.push(...batch)
    else waiting.freeKeys(batch)
    freeSlot()
  }
  /** Waits for the end of this tick of the event loop, so that all items of the tick share a batch. */
  const schedule = (): void => {
    if (isScheduled || !mayStart()) return
    isScheduled = true
    setImmediate(() => {
      isScheduled = false
      start()
    })
  }
  return {
    add: (item: Item): Promise<Result> => {
      const result = waiting.add(item)
      schedule()
      return result
    },
  }
}

/** Returns the list of items that are not in the database yet, in the order of arrival. */
function createWaitingList<Item, Result>(options: GroupCommitOptions<Item, Result>) {
  type Entry = Waiting<Item, Result>
  const waiting: Entry[] = []
  /** The keys of items in the database. */
  const busyKeys = new Set<string>()
  let timer: NodeJS.Timeout | undefined

  const refuseLate = (): void => {
    const latestMs = performance.now() - WAIT_MS_MAX
    const inTime = waiting.findIndex(({ arrivedMs }) => arrivedMs > latestMs)
    for (const { listener } of waiting.splice(0, inTime === -1 ? waiting.length : inTime)) {
      listener.reject(options.tooMany())
    }
  }
  /** Uses one timer for all items, set for the oldest. */
  const watchOldest = (): void => {
    const [oldest] = waiting
    if (oldest === undefined || timer !== undefined) return
    const onTime = () => {
      timer = undefined
      refuseLate()
      watchOldest()
    }
    timer = setTimeout(onTime, oldest.arrivedMs + WAIT_MS_MAX - performance.now()).unref()
  }
  return {
    count: () => waiting.length,
    refuseLate,
    add: (item: Item): Promise<Result> => {
      if (waiting.length >= WAITING_MAX) return Promise.reject(options.tooMany())
      const listener = Promise.withResolvers<Result>()
      const [key, arrivedMs, within] = [options.keyOf?.(item), performance.now(), AsyncLocalStorage.snapshot()]
      waiting.push({ item, key, arrivedMs, listener, within })
      watchOldest()
      return listener.promise
    },
    takeBatch: (): readonly Entry[] => takeBatch(waiting, busyKeys, options),
    freeKeys: (batch: readonly Entry[]): void => {
      for (const { key } of batch) if (key !== undefined) busyKeys.delete(key)
    },
  }
}

/**
 * Runs a batch in the trace of its first item, and settles the promise of each item.
 * @returns `repeat` if nothing was written and no promise is settled
 */
async function runBatch<Item, Result>(
  batch: readonly Waiting<Item, Result>[],
  { carryOut, isWorthRepeating }: GroupCommitOptions<Item, Result>,
): Promise<'settled' | 'repeat'> {
  try {
    const results = await batch[0]?.within(() => carryOut(batch.map(({ item }) => item)))
    results?.forEach((result, index) => {
      batch[index]?.listener.resolve(result)
    })
    for (const { listener } of batch.slice(results?.length)) {
      listener.reject(new Error('an item was left without a result'))
    }
  } catch (error) {
    if (batch.length > 1 && isWorthRepeating(error)) return 'repeat'
    for (const { listener } of batch) listener.reject(error)
  }
  return 'settled'
}

/** Removes the oldest items from the list, at most one for each key, and marks their keys as busy. */
function takeBatch<Item, Result>(
  waiting: Waiting<Item, Result>[],
  busyKeys: Set<string>,
  { fits = () => true, sizeMax }: GroupCommitOptions<Item, Result>,
): Waiting<Item, Result>[] {
  const batch: Waiting<Item, Result>[] = []
  const skipped: Waiting<Item, Result>[] = []
  let seen = 0
  for (const entry of waiting) {
    if (batch.length === sizeMax) break
    seen += 1
    const [first] = batch
    const isFree = entry.key === undefined || !busyKeys.has(entry.key)
    if (isFree && (first === undefined || fits(entry.item, first.item))) {
      if (entry.key !== undefined) busyKeys.add(entry.key)
      batch.push(entry)
    } else skipped.push(entry)
  }
  waiting.splice(0, seen, ...skipped)
  return batch
}
