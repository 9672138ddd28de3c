import type { Meter } from '@opentelemetry/api'
import type { Outcome } from '@trestle/jobs/jobs.ts'
import { defineTask } from '@trestle/jobs/task.ts'
import type { AuthConfig } from '../config.ts'
import type { Db } from '../database.ts'
import { deleteExpired } from '../retention/clean-up-repository.ts'
import { listCleanUps } from '../retention/list-clean-ups.ts'
import type { CleanUpBatch, CleanUpPlace, TableCleanUp } from '../retention/table-clean-up.ts'

/** Deletes expired rows (reference: Retention). One process runs it every minute. */
export const cleanUpTask = defineTask<Record<string, never>>('clean-up', {
  retryLimit: 0,
  firstDelaySeconds: 1,
  delaySecondsMax: 1,
  timeoutSeconds: 50,
  sealed: false,
})

/** When clean-up runs: every minute, in one process of all. */
export const CLEAN_UP_CRON = '* * * * *'

/** A run continues while there are rows to delete, to keep up with any load. It ends before the next run begins. */
const RUN_MS = 20_000
/**
 * The most batches of a walk in a run that find few rows, which is a million rows a minute. So a walk past the tokens of ten
 * million users who stay signed in takes ten minutes, and two seconds of one connection in each minute.
 */
const SPARSE_BATCHES_MAX = 1_000

interface CleanUpDeps {
  readonly config: AuthConfig
  readonly db: Db
  readonly now: () => Date
}

type CountRows = (table: string, rows: number) => void

/** Makes the handler of the task. A walk that a run does not finish continues in the next run. */
export function createCleanUp(
  deps: CleanUpDeps,
  countRows: CountRows,
  sparseBatchesMax = SPARSE_BATCHES_MAX,
): () => Promise<Outcome> {
  const places = new Map<string, CleanUpPlace>()
  const runOne = async (cleanUp: TableCleanUp): Promise<CleanUpBatch> => {
    const key = `${cleanUp.by} ${cleanUp.table}`
    const batch = await deleteExpired(deps.db, cleanUp, places.get(key))
    countRows(cleanUp.table, batch.removed)
    if (batch.next === undefined) places.delete(key)
    else places.set(key, batch.next)
    return batch
  }
  return async () => {
    const time = AbortSignal.timeout(RUN_MS)
    let turns = listCleanUps(deps.config, deps.now()).map((cleanUp) => ({ cleanUp, sparse: 0 }))
    // One batch of each table in turn, so that a table with many rows does not delay the others.
    while (turns.length > 0 && !time.aborted) {
      const next: typeof turns = []
      for (const { cleanUp, sparse } of turns) {
        const batch = await runOne(cleanUp)
        const sparseNow = batch.isFull ? sparse : sparse + 1
        if (batch.next !== undefined && sparseNow < sparseBatchesMax) next.push({ cleanUp, sparse: sparseNow })
      }
      turns = next
    }
    return 'done'
  }
}

/** Makes what counts removed rows by table, in `auth_cleanup_affected_rows_total`. */
export function createCleanUpCounter({ meter }: { readonly meter: Meter }): CountRows {
  const counter = meter.createCounter('auth_cleanup_affected_rows_total', { description: 'Rows removed by clean-up' })
  return (table, rows) => counter.add(rows, { table })
}
