import type { Outcome } from '@trestle/jobs/jobs.ts'
import { defineTask } from '@trestle/jobs/task.ts'
import type { AuthDeps } from '../deps.ts'
import { type Batch, type Cursor, listSweeps, runBatch, type Sweep } from './sweeps.ts'

/** Removes rows whose time is over (reference: Retention). Scheduled every minute, once among all processes. */
export const cleanUpTask = defineTask<Record<string, never>>('clean-up', {
  retryLimit: 0,
  firstDelaySeconds: 1,
  longestDelaySeconds: 1,
  timeoutSeconds: 50,
  sealed: false,
})

export const CLEAN_UP_CRON = '* * * * *'

/** A run goes on as long as batches are full, so that it keeps up with any load, but not into the next one's minute. */
const RUN_MS = 20_000
/**
 * Where a walk finds little, it looks at no more than so many thousand rows a minute: the tokens of ten million people who
 * stay signed in are behind it in ten minutes, at two seconds of one connection in each.
 */
const SPARSE_BATCHES_MAX = 1_000

type CountRows = (table: string, rows: number) => void

/** Makes what a job of the task does. Walks that a run does not finish go on in the next one. */
export function createCleanUp(
  deps: Pick<AuthDeps, 'config' | 'db' | 'now'>,
  countRows: CountRows,
  sparseBatchesMax = SPARSE_BATCHES_MAX,
): () => Promise<Outcome> {
  const cursors = new Map<string, Cursor>()
  const runOne = async (sweep: Sweep): Promise<Batch> => {
    const place = `${sweep.by} ${sweep.table}`
    const batch = await runBatch(deps.db, sweep, cursors.get(place))
    countRows(sweep.table, batch.removed)
    if (batch.next === undefined) cursors.delete(place)
    else cursors.set(place, batch.next)
    return batch
  }
  return async () => {
    const time = AbortSignal.timeout(RUN_MS)
    let turns = listSweeps(deps).map((sweep) => ({ sweep, sparse: 0 }))
    // In turns, so that a table with much to remove does not keep the others waiting.
    while (turns.length > 0 && !time.aborted) {
      const next: typeof turns = []
      for (const { sweep, sparse } of turns) {
        const batch = await runOne(sweep)
        const sparseNow = batch.isFull ? sparse : sparse + 1
        if (batch.next !== undefined && sparseNow < sparseBatchesMax) next.push({ sweep, sparse: sparseNow })
      }
      turns = next
    }
    return 'done'
  }
}

/** Counts the rows in `auth_cleanup_affected_rows_total`. */
export function createCleanUpCounter({ meter }: Pick<AuthDeps, 'meter'>): CountRows {
  const counter = meter.createCounter('auth_cleanup_affected_rows_total', { description: 'Rows removed by clean-up' })
  return (table, rows) => counter.add(rows, { table })
}
