import { createGroupCommit } from '@trestle/database/group-commit.ts'
import { isRefusedStatement } from '@trestle/database/unavailable.ts'
import { serverBusy } from './errors.ts'

/** The two calls of the database for one kind of request. */
export interface Calls<Item, Result> {
  /**
   * Carries out many in one transaction, all or none when it fails.
   * @returns a result for each, in their order; undefined for one that might wait for a stranger
   */
  readonly many: (items: readonly Item[]) => Promise<readonly (Result | undefined)[]>
  /** Carries out one, and waits for its lock. */
  readonly alone: (item: Item) => Promise<Result>
}

/** How many share a transaction at most. */
const BATCH_MAX = 64

/**
 * Requests of this process that are ready together, or while others are under way, go to the database together. One that comes
 * alone goes at once, in one round trip. One that might wait for a stranger is sent once more, alone. The function that is
 * returned throws 503, before anything is done, where a request would wait for too long.
 */
export function goTogether<Item, Result>({ many, alone }: Calls<Item, Result>): (item: Item) => Promise<Result> {
  const group = createGroupCommit<Item, Result | undefined>({
    carryOut: many,
    isWorthRepeating: isRefusedStatement,
    sizeMax: BATCH_MAX,
    tooMany: serverBusy,
  })
  return async (item) => (await group.add(item)) ?? alone(item)
}
