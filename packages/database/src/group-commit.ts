import { AsyncLocalStorage } from 'node:async_hooks'

export interface GroupCommitOptions<Item, Result> {
  /** Carries out items of different keys, all or none of them. @returns a result for each, in their order */
  readonly carryOut: (items: readonly Item[]) => Promise<readonly Result[]>
  /** What only one item under way may have: a second one would only wait for its lock. Undefined: nothing. */
  readonly keyOf?: (item: Item) => string
  /** Whether an item may go with the first of a batch. Undefined: each may. */
  readonly fits?: (item: Item, first: Item) => boolean
  /** Whether an error says that nothing was done and that the same items, one by one, may fare better. */
  readonly isWorthRepeating: (error: unknown) => boolean
  readonly sizeMax: number
  /** What an item is refused with, before anything is done, when thousands wait or when it has waited for too long. */
  readonly tooMany: () => Error
}

/** Items of this process on their way to the database. */
export interface GroupCommit<Item, Result> {
  add(item: Item): Promise<Result>
}

interface Waiting<Item, Result> {
  readonly item: Item
  readonly key: string | undefined
  readonly arrived: number
  readonly listener: PromiseWithResolvers<Result>
  /** Runs something as part of what the item is part of: of its request's trace. */
  readonly within: ReturnType<typeof AsyncLocalStorage.snapshot>
}

/** While so many batches are in the database, items wait for the next. A second one goes when it is as large as the first. */
const BATCHES_MAX = 2
/** In milliseconds. A batch that takes longer holds nobody up any more but those who want the same. */
const SLOW_MS = 100
/** Slow ones included: half of a pool. When a database stands still, one kind of request does not hold all of it. */
const UNDER_WAY_MAX = 8
const WAITING_MAX = 4_096
/** In milliseconds: that of a pool for a connection. Who comes again must not meet what is still to be done. */
const WAIT_MAX_MS = 5_000

/**
 * Group commit: items that arrive while batches are under way go together in the next. One that arrives alone goes at once.
 * Nothing may depend on it: several processes work on the same rows.
 */
export function createGroupCommit<Item, Result>(options: GroupCommitOptions<Item, Result>): GroupCommit<Item, Result> {
  type Entry = Waiting<Item, Result>
  /** In the order of arrival. */
  const waiting: Entry[] = []
  /** Keys of what is under way. */
  const busy = new Set<string>()
  /** Batches that are under way and not slow, repeats of one item too. */
  const swift = new Set<readonly Entry[]>()
  let underWay = 0
  let isScheduled = false
  let refusal: NodeJS.Timeout | undefined

  /** A second batch smaller than the first makes two small ones of what would be a large one: most of one is per call. */
  const mayStart = (): boolean => {
    if (underWay >= UNDER_WAY_MAX) return false
    const [first] = swift
    return first === undefined || (swift.size < BATCHES_MAX && waiting.length >= first.length)
  }
  const start = (): void => {
    refuseLate()
    while (mayStart()) {
      const batch = takeBatch(waiting, busy, options)
      if (batch.length === 0) return
      void run(batch)
    }
  }
  const run = async (batch: readonly Entry[]): Promise<void> => {
    swift.add(batch)
    underWay += 1
    const leave = () => {
      swift.delete(batch)
      start()
    }
    const slow = setTimeout(leave, SLOW_MS)
    const outcome = await settle(batch, options)
    clearTimeout(slow)
    underWay -= 1
    if (outcome === 'again') for (const entry of batch) void run([entry])
    else for (const { key } of batch) if (key !== undefined) busy.delete(key)
    leave()
  }
  /** Items that arrive in one turn of the event loop go together. */
  const schedule = (): void => {
    if (isScheduled || !mayStart()) return
    isScheduled = true
    setImmediate(() => {
      isScheduled = false
      start()
    })
  }
  const refuseLate = (): void => {
    const oldest = performance.now() - WAIT_MAX_MS
    const late = waiting.findIndex(({ arrived }) => arrived > oldest)
    for (const { listener } of waiting.splice(0, late === -1 ? waiting.length : late))
      listener.reject(options.tooMany())
  }
  /** One timer for all that wait. */
  const watch = (): void => {
    const [oldest] = waiting
    if (oldest === undefined || refusal !== undefined) return
    const due = () => {
      refusal = undefined
      refuseLate()
      watch()
    }
    refusal = setTimeout(due, oldest.arrived + WAIT_MAX_MS - performance.now()).unref()
  }
  return {
    add: (item) => {
      if (waiting.length >= WAITING_MAX) return Promise.reject(options.tooMany())
      const listener = Promise.withResolvers<Result>()
      const [key, arrived, within] = [options.keyOf?.(item), performance.now(), AsyncLocalStorage.snapshot()]
      waiting.push({ item, key, arrived, listener, within })
      schedule()
      watch()
      return listener.promise
    },
  }
}

/** Carries a batch out, as part of what its first item is part of, and tells all; `again`: nothing was done, nobody told. */
async function settle<Item, Result>(
  batch: readonly Waiting<Item, Result>[],
  { carryOut, isWorthRepeating }: GroupCommitOptions<Item, Result>,
): Promise<'told' | 'again'> {
  try {
    const results = await batch[0]?.within(() => carryOut(batch.map(({ item }) => item)))
    results?.forEach((result, index) => {
      batch[index]?.listener.resolve(result)
    })
    for (const { listener } of batch.slice(results?.length))
      listener.reject(new Error('an item was left without a result'))
  } catch (error) {
    if (batch.length > 1 && isWorthRepeating(error)) return 'again'
    for (const { listener } of batch) listener.reject(error)
  }
  return 'told'
}

/** Takes items in their order, at most one a key, and marks their keys as busy. */
function takeBatch<Item, Result>(
  waiting: Waiting<Item, Result>[],
  busy: Set<string>,
  { fits = () => true, sizeMax }: GroupCommitOptions<Item, Result>,
): Waiting<Item, Result>[] {
  const batch: Waiting<Item, Result>[] = []
  const left: Waiting<Item, Result>[] = []
  let seen = 0
  for (const entry of waiting) {
    if (batch.length === sizeMax) break
    seen += 1
    const [first] = batch
    const isFree = entry.key === undefined || !busy.has(entry.key)
    if (isFree && (first === undefined || fits(entry.item, first.item))) {
      if (entry.key !== undefined) busy.add(entry.key)
      batch.push(entry)
    } else left.push(entry)
  }
  waiting.splice(0, seen, ...left)
  return batch
}
