import type { Meter } from '@opentelemetry/api'
import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import { defineTask } from '@trestle/jobs/task.ts'
import type { AuthConfig } from '../config.ts'
import type { Db } from '../database.ts'
import { updateLostMessages } from '../messages/message-repository.ts'
import {
  type CleanUpBatch,
  type CleanUpPlace,
  deleteExpired,
  listCleanUps,
  type RefusedRows,
  type TableCleanUp,
} from '../retention/clean-up-repository.ts'

/** Deletes expired rows (reference: Retention). One process runs it every minute. */
export const cleanUpTask = defineTask<Record<string, never>>('clean-up', {
  retryLimit: 0,
  firstDelaySeconds: 1,
  delaySecondsMax: 1,
  timeoutSeconds: 50,
})

const EVERY_MINUTE = '* * * * *'

/** A run continues while there are rows to delete, to keep up with any load. It ends before the next run begins. */
const RUN_MS = 20_000
/**
 * The most batches of a walk in a run that find few rows, which is a million rows a minute. So a walk past the tokens of ten
 * million signed-in users takes ten minutes, and two seconds of one connection in each.
 */
const SPARSE_BATCHES_MAX = 1_000
/**
 * The most rows of a table that a run tries without success: each costs a statement. The next run continues after them. When
 * all rows were tried, the next run begins with the first row.
 */
const REFUSED_ROWS_MAX = 1_000

/** Longer than the job of a message lasts with all its attempts. */
export const MESSAGE_JOB_MS = 48 * 3_600_000

interface CleanUpDeps {
  readonly config: AuthConfig
  readonly db: Db
  readonly now: () => Date
}

type CountRows = (table: string, rows: number) => void

/** The state that the clean-up runs of a process share: counters, places of unfinished walks, and limits in batches and rows. */
export interface CleanUpRuns {
  readonly countRows: CountRows
  /** The places at which walks continue that an earlier run did not finish. */
  readonly places: Map<string, CleanUpPlace>
  /** Default: SPARSE_BATCHES_MAX. */
  readonly sparseBatchesMax?: number | undefined
  /** Default: REFUSED_ROWS_MAX. */
  readonly refusedRowsMax?: number | undefined
  /** Reports the rows of a table that a run could not delete. */
  readonly reportRefusedRows?: (table: string, refused: RefusedRows) => void
}

/** Deletes expired rows, and fails messages whose job is over. A walk that a run does not finish continues in the next run. */
export async function cleanUp(deps: CleanUpDeps & CleanUpRuns): Promise<void> {
  const { sparseBatchesMax = SPARSE_BATCHES_MAX, refusedRowsMax = REFUSED_ROWS_MAX } = deps
  const time = AbortSignal.timeout(RUN_MS)
  let turns: readonly Turn[] = listCleanUps(deps.config, deps.now()).map((target) => ({ target, sparse: 0 }))
  const refusals = new Map<string, RefusedRows>()
  const lostBefore = new Date(deps.now().getTime() - MESSAGE_JOB_MS)
  for (let failed = 1; failed > 0 && !time.aborted; ) failed = await updateLostMessages(deps.db, lostBefore)
  // One batch of each table in turn, so that a table with many rows does not delay the others.
  while (turns.length > 0 && !time.aborted) {
    const next: Turn[] = []
    for (const { target, sparse } of turns) {
      const batch = await deleteBatch(deps, target)
      const refused = addRefusedRows(refusals, target.table, batch)
      const sparseNow = batch.isFull ? sparse : sparse + 1
      if (batch.next !== undefined && sparseNow < sparseBatchesMax && refused < refusedRowsMax)
        next.push({ target, sparse: sparseNow })
    }
    turns = next
  }
  for (const [table, refused] of refusals) deps.reportRefusedRows?.(table, refused)
}

/** Starts the job of every minute, unless the settings switch it off. */
export async function startCleanUp(
  deps: CleanUpDeps &
    Pick<ServiceLogger, 'logger'> & { readonly jobs: Pick<Jobs, 'work' | 'schedule'>; readonly meter: Meter },
): Promise<void> {
  if (!deps.config.database.cleanupEnabled) return
  const reportRefusedRows: CleanUpRuns['reportRefusedRows'] = (table, { rows, cause }) =>
    deps.logger.warn(
      { table, rows, err: cause },
      'expired rows stay, because something of an application refuses to delete them',
    )
  const runs = { countRows: createCounter(deps.meter), places: new Map(), reportRefusedRows }
  await deps.jobs.work(cleanUpTask, async () => {
    await cleanUp({ ...deps, ...runs })
    return 'done'
  })
  await deps.jobs.schedule(cleanUpTask, EVERY_MINUTE)
}

/** A clean-up that a run has not finished, and how many of its batches have found few rows. */
interface Turn {
  readonly target: TableCleanUp
  readonly sparse: number
}

/** Adds the refused rows of a batch to the refused rows of its table. @returns how many the table has */
function addRefusedRows(refusals: Map<string, RefusedRows>, table: string, { refused }: CleanUpBatch): number {
  const before = refusals.get(table)
  const rows = (before?.rows ?? 0) + (refused?.rows ?? 0)
  if (refused !== undefined) refusals.set(table, { cause: before?.cause ?? refused.cause, rows })
  return rows
}

/** Deletes a batch of a table, and keeps the place where its walk continues. */
async function deleteBatch(
  { db, countRows, places }: Pick<CleanUpDeps, 'db'> & CleanUpRuns,
  target: TableCleanUp,
): Promise<CleanUpBatch> {
  const key = JSON.stringify([target.by, target.table, target.by === 'index' ? target.column : undefined])
  const batch = await deleteExpired(db, target, places.get(key))
  countRows(target.table, batch.removed)
  if (batch.next === undefined) places.delete(key)
  else places.set(key, batch.next)
  return batch
}

/** Counts removed rows by table, in `auth_cleanup_affected_rows_total`. */
function createCounter(meter: Meter): CountRows {
  const counter = meter.createCounter('auth_cleanup_affected_rows_total', { description: 'Rows removed by clean-up' })
  return (table, rows) => counter.add(rows, { table })
}
