import { serverBusy } from '../errors.ts'
import type { Move, MoveResult } from './move-repository.ts'

export interface MoveQueueOptions {
  /** Carries out operations on different transactions, all or none of them. */
  readonly carryOut: (moves: readonly Move[]) => Promise<readonly MoveResult[]>
  /** Whether an error says that nothing was done and that the same operations, one by one, may fare better. */
  readonly isWorthRepeating: (error: unknown) => boolean
  /** `merchant`: a batch holds operations below one merchant only. */
  readonly scope: 'any' | 'merchant'
}

/** Operations of this process on their way to the database. */
export interface MoveQueue {
  /** Carries out an operation. @throws 503 when too many wait */
  move(move: Move): Promise<MoveResult>
}

/** While so many batches are in the database, operations wait for the next. A second one goes when it is as large as the first. */
const BATCHES_MAX = 2
const BATCH_SIZE_MAX = 128
const WAITING_MAX = 4_096

interface Waiting {
  readonly move: Move
  /** Of operations that are the same, where there is an Idempotency-Key. */
  readonly name: string | undefined
  /** Those of the same client with the same Idempotency-Key and body: one effect serves them all. */
  readonly listeners: PromiseWithResolvers<MoveResult>[]
}

/**
 * Group commit: operations that arrive while batches are under way go together in the next, each transaction at most once. One that arrives alone goes at once. Correctness never depends on it: several processes may share a merchant.
 * @see design 8; contract 23
 */
export function createMoveQueue({ carryOut, isWorthRepeating, scope }: MoveQueueOptions): MoveQueue {
  const waiting: Waiting[] = []
  const repeats = new Map<string, Waiting>()
  /** Transactions of the batches that are under way: a second batch with one of them would only wait for its lock. */
  const busy = new Set<string>()
  let batches = 0
  let isScheduled = false

  /** A second batch that is smaller than the first makes two small ones of what would be a large one: most of a batch is per call. */
  const mayStart = (): boolean => batches === 0 || (batches < BATCHES_MAX && waiting.length >= busy.size)
  const start = (): void => {
    while (mayStart()) {
      const batch = takeBatch(waiting, busy, scope)
      if (batch.length === 0) return
      for (const { name } of batch) if (name !== undefined) repeats.delete(name)
      batches += 1
      void finish(batch)
    }
  }
  const finish = async (batch: readonly Waiting[]): Promise<void> => {
    try {
      await settle(batch)
    } finally {
      for (const { move } of batch) busy.delete(move.transactionId)
      batches -= 1
      start()
    }
  }
  const settle = async (batch: readonly Waiting[]): Promise<void> => {
    try {
      const results = await carryOut(batch.map(({ move }) => move))
      batch.forEach(({ listeners }, index) => {
        tell(listeners, results[index])
      })
    } catch (error) {
      if (batch.length > 1 && isWorthRepeating(error)) await Promise.all(batch.map((one) => settle([one])))
      else for (const { reject } of batch.flatMap(({ listeners }) => listeners)) reject(error)
    }
  }
  /** Requests that arrive in one turn of the event loop go together. */
  const schedule = (): void => {
    if (isScheduled || !mayStart()) return
    isScheduled = true
    setImmediate(() => {
      isScheduled = false
      start()
    })
  }
  return {
    move: (move) => {
      const listener = Promise.withResolvers<MoveResult>()
      const name = nameOf(move)
      const same = name === undefined ? undefined : repeats.get(name)
      if (same) {
        same.listeners.push(listener)
        return listener.promise
      }
      if (waiting.length >= WAITING_MAX) return Promise.reject(serverBusy())
      const entry = { move, name, listeners: [listener] }
      waiting.push(entry)
      if (name !== undefined) repeats.set(name, entry)
      schedule()
      return listener.promise
    },
  }
}

/** Takes operations in their order, at most one a transaction, and marks their transactions as busy. */
function takeBatch(waiting: Waiting[], busy: Set<string>, scope: MoveQueueOptions['scope']): Waiting[] {
  const batch: Waiting[] = []
  const left: Waiting[] = []
  let seen = 0
  for (const entry of waiting) {
    if (batch.length === BATCH_SIZE_MAX) break
    seen += 1
    const { transactionId } = entry.move
    if (busy.has(transactionId) || (scope === 'merchant' && !isSameMerchant(batch[0], transactionId))) {
      left.push(entry)
      continue
    }
    busy.add(transactionId)
    batch.push(entry)
  }
  waiting.splice(0, seen, ...left)
  return batch
}

/** An id ends in the tag of its merchant. */
function isSameMerchant(first: Waiting | undefined, transactionId: string): boolean {
  return first === undefined || first.move.transactionId.slice(16) === transactionId.slice(16)
}

/** The first has the effect; for the others it is a replay. */
function tell(listeners: Waiting['listeners'], result: MoveResult | undefined): void {
  listeners.forEach(({ resolve, reject }, index) => {
    if (!result) reject(new Error('an operation was left without a result'))
    else resolve(index > 0 && result.transaction ? { ...result, verdict: 'replayed' } : result)
  })
}

function nameOf({ keyMac, person, repeat }: Move): string | undefined {
  if (!repeat) return undefined
  const { path, key, fingerprint } = repeat
  return JSON.stringify([keyMac?.toString('base64'), person, path, key, fingerprint.toString('base64')])
}
