import { createGroupCommit } from '@trestle/database/batches/group-commit.ts'
import { isLockTimeout, isRefusedStatement } from '@trestle/database/unavailable.ts'
import { serverBusy } from '../errors.ts'

/** The two database calls for one kind of request. */
export interface BatchableCalls<Item, Result> {
  /**
   * Carries out all items in one transaction, or none if it throws.
   * @returns a result per item in the same order; `undefined` for an item that would wait for a lock and must go alone
   */
  readonly many: (items: readonly Item[]) => Promise<readonly (Result | undefined)[]>
  /** Carries out one item and waits for its lock. */
  readonly alone: (item: Item) => Promise<Result>
}

/** The maximum number of items in a transaction. */
const BATCH_CALLS_MAX = 64

/**
 * Batches the calls of this process. Requests that arrive together, or while other requests are in the database, share a call. A
 * single request is sent immediately, in one round trip. A request that might wait for a lock is sent again, alone. A request
 * that would wait too long in this queue is refused with `serverBusy` before anything is written.
 */
export function batchCalls<Item, Result>({
  many,
  alone,
}: BatchableCalls<Item, Result>): (item: Item) => Promise<Result> {
  const group = createGroupCommit<Item, Result | undefined>({
    carryOut: many,
    // For example, after a timeout of a table lock each item would wait for the lock again.
    isWorthRepeating: (error) => isRefusedStatement(error) && !isLockTimeout(error),
    sizeMax: BATCH_CALLS_MAX,
    tooMany: serverBusy,
  })
  return async (item) => (await group.add(item)) ?? alone(item)
}
