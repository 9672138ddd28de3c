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

/** Deletes expired rows (reference: Retention). One process runs the task every minute. */
export const cleanUpTask = defineTask<Record<string, never>>('clean-up', {
  retryLimit: 0,
  firstDelaySeconds: 1,
  delaySecondsMax: 1,
  timeoutSeconds: 50,
})

const EVERY_MINUTE = '* * * * *'

/** A run continues while there are rows to delete, so that it keeps up with any load, but ends before the next run. */
const RUN_MS = 20_000
/**
 * The largest number of batches in a run that find few rows. It allows a million rows a minute. A scan over the tokens of ten
 * million signed-in users takes ten minutes, with two seconds of one connection in each.
 */
const SPARSE_BATCHES_MAX = 1_000
/**
 * The largest number of refused rows of a table in a run, because each costs a statement. The next run continues after them.
 * After the last row, a run starts again with the first row.
 */
const REFUSED_ROWS_MAX = 1_000

/** Longer than the job of a message can last with all its attempts. */
export const MESSAGE_JOB_MS = 48 * 3_600_000

interface CleanUpDeps {
  readonly config: AuthConfig
  readonly db: Db
  readonly now: () => Date
}

type CountRows = (table: string, rows: number) => void

/** The shared state of a process's clean-up runs: counters, positions of unfinished scans, and limits in batches and rows. */
export interface CleanUpRuns {
  readonly countRows: CountRows
  /** The positions from which scans of earlier runs continue. */
  readonly places: Map<string, CleanUpPlace>
  /** SPARSE_BATCHES_MAX by default. */
  readonly sparseBatchesMax?: number | undefined
  /** REFUSED_ROWS_MAX by default. */
  readonly refusedRowsMax?: number | undefined
  /** Called with the rows of a table that a run could not delete. */
  readonly reportRefusedRows?: (table: string, refused: RefusedRows) => void
}

/** Deletes expired rows, and fails messages whose job has ended. The next run continues unfinished scans. */
export async function cleanUp(deps: CleanUpDeps & CleanUpRuns): Promise<void> {
  const { sparseBatchesMax = SPARSE_BATCHES_MAX, refusedRowsMax = REFUSED_ROWS_MAX } = deps
  const time = AbortSignal.timeout(RUN_MS)
  let turns: readonly Turn[] = listCleanUps(deps.config, deps.now()).map((target) => ({ target, sparse: 0 }))
  const refusals = new Map<string, RefusedRows>()
  const lostBefore = new Date(deps.now().getTime() - MESSAGE_JOB_MS)
  for (let failed = 1; failed > 0 && !time.aborted; ) failed = await updateLostMessages(deps.db, lostBefore)
  // Delete one batch per table in turn, so that a table with many rows does not delay the others.
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

/** Starts the clean-up of every minute, unless the settings disable it. */
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

/** An unfinished clean-up of a table, and the number of its batches that found few rows. */
interface Turn {
  readonly target: TableCleanUp
  readonly sparse: number
}

/** Adds the refused rows of a batch to those of its table. @returns the table's number of refused rows */
function addRefusedRows(refusals: Map<string, RefusedRows>, table: string, { refused }: CleanUpBatch): number {
  const before = refusals.get(table)
  const rows = (before?.rows ?? 0) + (refused?.rows ?? 0)
  if (refused !== undefined) refusals.set(table, { cause: before?.cause ?? refused.cause, rows })
  return rows
}

/** Deletes a batch of a table, and stores the position of the scan. */
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
