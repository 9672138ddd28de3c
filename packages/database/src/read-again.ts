import { createGroupCommit } from './batches/group-commit.ts'
import type { PreparedQuery } from './prepare.ts'
import { NoConnectionError } from './unavailable.ts'

/**
 * Repeats reads where rows may move to other servers. A read that finds nothing of an owner runs again, once the server that it
 * asked knows where the rows are. While a move ends, a read may look at the old place.
 */
export interface ReadAgain {
  /** Returns once the server knows. It runs on the write pool. */
  readonly awaitMove: PreparedQuery<{ readonly owner: string }, unknown>
  /** Whether the rows of a read say that there is no such object. */
  readonly isMissing: (rows: readonly object[]) => boolean
}

/** Runs a read of an owner in its turn. */
export type InTurn = <Rows>(owner: string, read: () => Promise<Rows>) => Promise<Rows>

/**
 * Returns what repeats reads of one owner one by one. So those that wait for a long move leave connections to all else: they have
 * no more of them than batches. A read that would have to wait for 5 s fails with NoConnectionError.
 */
export function createTurns(): InTurn {
  const group = createGroupCommit<{ readonly owner: string; readonly read: () => Promise<unknown> }, unknown>({
    carryOut: (items) => Promise.all(items.map(({ read }) => read())),
    keyOf: ({ owner }) => owner,
    isWorthRepeating: () => false,
    sizeMax: 1,
    tooMany: () => new NoConnectionError('too many reads wait for the end of a move'),
  })
  // The result of an item is what its own read resolves to.
  return <Rows>(owner: string, read: () => Promise<Rows>) => group.add({ owner, read }) as Promise<Rows>
}
