import { createGroupCommit } from '@trestle/database/batches/group-commit.ts'
import { isLockTimeout, isRefusedStatement } from '@trestle/database/unavailable.ts'
import { serverBusy } from '../errors.ts'

/** The two calls of the database for one kind of request. */
export interface BatchableCalls<Item, Result> {
  /**
   * Carries out many in one transaction: all of them, or none when it throws.
   * @returns a result for each, in the same order; undefined for an item that might wait for a stranger and must go alone
   */
  readonly many: (items: readonly Item[]) => Promise<readonly (Result | undefined)[]>
  /** Carries out one, and waits for its lock. */
  readonly alone: (item: Item) => Promise<Result>
}

/** How many items share a transaction at most. */
const BATCH_CALLS_MAX = 64

/**
 * Batches the calls of this process. Requests that are ready together, or while others are in the database, go there together.
 * A request that comes alone goes at once, in one round trip. A request that might wait for a stranger is sent again, alone. A
 * request that would wait too long for its turn is refused with `serverBusy` before anything is written.
 */
export function batchCalls<Item, Result>({
  many,
  alone,
}: BatchableCalls<Item, Result>): (item: Item) => Promise<Result> {
  const group = createGroupCommit<Item, Result | undefined>({
    carryOut: many,
    // After a timeout of a lock on a table, say, each item would wait for the lock again.
    isWorthRepeating: (error) => isRefusedStatement(error) && !isLockTimeout(error),
    sizeMax: BATCH_CALLS_MAX,
    tooMany: serverBusy,
  })
  return async (item) => (await group.add(item)) ?? alone(item)
}
