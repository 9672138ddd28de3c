import { createGroupCommit } from '@trestle/database/batches/group-commit.ts'
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
  /** Carries out an operation. @throws 503, before anything is done, when it would wait for too long */
  move(move: Move): Promise<MoveResult>
}

const BATCH_SIZE_MAX = 128

interface Waiting {
  readonly move: Move
  /** Of operations that are the same, where there is an Idempotency-Key. */
  readonly name: string | undefined
  /** Those of the same client with the same Idempotency-Key and body: one effect serves them all. */
  readonly listeners: PromiseWithResolvers<MoveResult>[]
}

/**
 * Operations that arrive while batches are under way go together in the next one, each transaction at most once. Correctness
 * never depends on batches: several processes may share a merchant (reference: Batches).
 */
export function createMoveQueue({ carryOut, isWorthRepeating, scope }: MoveQueueOptions): MoveQueue {
  const repeats = new Map<string, Waiting>()
  /** From then on the same operation is one of its own, which the database knows as a replay. */
  const closeEntry = (entry: Waiting): void => {
    if (entry.name !== undefined && repeats.get(entry.name) === entry) repeats.delete(entry.name)
  }
  const group = createGroupCommit<Waiting, MoveResult>({
    carryOut: (batch) => {
      batch.forEach(closeEntry)
      return carryOut(batch.map(({ move }) => move))
    },
    keyOf: ({ move }) => move.transactionId,
    fits: (entry, first) => scope === 'any' || isSameMerchant(entry, first),
    isWorthRepeating,
    sizeMax: BATCH_SIZE_MAX,
    tooMany: serverBusy,
  })
  return {
    move: (move) => {
      const listener = Promise.withResolvers<MoveResult>()
      const name = nameOf(move)
      const same = name === undefined ? undefined : repeats.get(name)
      if (same) {
        same.listeners.push(listener)
        return listener.promise
      }
      const entry = { move, name, listeners: [listener] }
      if (name !== undefined) repeats.set(name, entry)
      group.add(entry).then(
        (result) => tell(entry.listeners, result),
        (error) => {
          closeEntry(entry)
          for (const { reject } of entry.listeners) reject(error)
        },
      )
      return listener.promise
    },
  }
}

/** An id ends in the tag of its merchant. */
function isSameMerchant(one: Waiting, other: Waiting): boolean {
  return one.move.transactionId.slice(16) === other.move.transactionId.slice(16)
}

/** The first has the effect; for the others it is a replay. */
function tell(listeners: Waiting['listeners'], result: MoveResult): void {
  listeners.forEach(({ resolve }, index) => {
    resolve(index > 0 && result.transaction ? { ...result, verdict: 'replayed' } : result)
  })
}

function nameOf({ keyMac, person, repeat }: Move): string | undefined {
  if (!repeat) return undefined
  const { path, key, fingerprint } = repeat
  return JSON.stringify([keyMac?.toString('base64'), person, path, key, fingerprint.toString('base64')])
}
