import type { Names } from '@trestle/migrations/migration.ts'
import type { QueryExecutorProvider } from 'kysely'
import { type DistributionState, readState } from './notes.ts'

/** How often each process asks whether rows are moving. */
const POLL_MS = 1_000
/**
 * How long a run waits before it moves rows, in milliseconds: until every process has asked, and has refused to write since. A
 * process that gets no answer for longer cannot write either.
 */
export const NOTICE_MS = 3 * POLL_MS

/** A poll for the state of a database, once a second until `stop`. */
export interface StateFollower {
  readonly stop: () => void
}

interface FollowOptions {
  readonly db: QueryExecutorProvider
  readonly names: Names
  /** The state that the process began with. */
  readonly state: DistributionState
  /** Called when the state has changed, and again with the next poll when the call fails. */
  readonly onChange: (state: DistributionState) => Promise<void>
  readonly onError: (error: Error) => void
}

/**
 * Starts to ask once a second for the state of a database, and returns what knows it. While the database does
 * not answer, the last state counts.
 */
export function followState({ db, names, state, onChange, onError }: FollowOptions): StateFollower {
  let last = state
  let isAsking = false
  const reportChange = async (): Promise<void> => {
    const found = await readState(db, names).catch(() => last)
    if (found === last) return
    await onChange(found)
    last = found
  }
  const timer = setInterval(async () => {
    // Without this, questions to a server that does not answer would pile up.
    if (isAsking) return
    isAsking = true
    await reportChange().catch(onError)
    isAsking = false
  }, POLL_MS).unref()
  return { stop: () => clearInterval(timer) }
}
