import { createGroupCommit } from '@trestle/database/batches/group-commit.ts'
import { isLockTimeout, isRefusedStatement } from '@trestle/database/unavailable.ts'
import { serverBusy } from './errors.ts'

/** The two calls of the database for one kind of request. */
export interface GroupCalls<Item, Result> {
  /**
   * Carries out many in one transaction, all or none when it fails.
   * @returns a result for each, in their order; undefined for one that might wait for a stranger, to go alone
   */
  readonly many: (items: readonly Item[]) => Promise<readonly (Result | undefined)[]>
  /** Carries out one, and waits for its lock. */
  readonly alone: (item: Item) => Promise<Result>
}

/** How many share a transaction at most. */
const BATCH_MAX = 64

/**
 * Requests of this process that are ready together, or while others are under way, go to the database together. One that comes
 * alone goes at once, in one round trip. One that might wait for a stranger is sent once more, alone. A request that would wait
 * too long for its turn is refused with 503 before anything is done.
 */
export function goTogether<Item, Result>({ many, alone }: GroupCalls<Item, Result>): (item: Item) => Promise<Result> {
  const group = createGroupCommit<Item, Result | undefined>({
    carryOut: many,
    // Of a table's lock, say: each would wait for it once more.
    isWorthRepeating: (error) => isRefusedStatement(error) && !isLockTimeout(error),
    sizeMax: BATCH_MAX,
    tooMany: serverBusy,
  })
  return async (item) => (await group.add(item)) ?? alone(item)
}
