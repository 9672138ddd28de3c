import { setTimeout } from 'node:timers/promises'
import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { Metrics } from '@trestle/common/telemetry/metrics.ts'
import type { Pools } from '@trestle/database/pools.ts'
import { deleteOldKeys } from '../idempotency/key-repository.ts'
import { GIVEN_UP } from '../imports/import-job.ts'
import { deleteOldImportRows } from '../imports/import-repository.ts'
import { deleteOldOperatorImports, updateAbandonedImports } from '../imports/operator-import-repository.ts'
import type { CleanUpWatch } from '../reservations/clean-up-watch.ts'
import { callExpireReservations } from '../reservations/reservation-repository.ts'
import type { StockMetrics } from '../reservations/stock-metrics.ts'

interface CleanUpDeps {
  readonly pools: Pools
  readonly stockMetrics: StockMetrics
  readonly outcomes: ReturnType<Metrics['meter']['createCounter']>
  readonly logger: Pick<ServiceLogger['logger'], 'info' | 'warn'>
  readonly cleanUpWatch: Pick<CleanUpWatch, 'rememberAlive'>
}

/** Small, because a batch locks the levels of its reservations. */
const BATCH_ROWS = 100
/** Larger, because no other request needs these rows. */
const IMPORT_BATCH_ROWS = 5_000
/** Small, because a file may have many mebibytes. */
const BATCH_FILES = 10

/**
 * Expires due reservations, deletes old Idempotency-Keys, old imports and the files of interrupted imports, and ends imports that
 * no process continues (reference: Clean-up). Several processes may run it at the same time, because each batch skips rows that
 * another process has locked. If a run ends early, the next run does the rest. A second run finds nothing more to do.
 */
export async function cleanUp(deps: CleanUpDeps): Promise<void> {
  const { pools, logger, stockMetrics, cleanUpWatch } = deps
  await attemptTask(deps, 'reservation_expiry', async () => {
    const count = await repeatWhileFull((limit) => callExpireReservations(pools, limit), cleanUpWatch, BATCH_ROWS)
    stockMetrics.countReservation('expired', count)
    if (count > 0) logger.info({ event: 'reservation.expired', count }, 'reservations have expired')
  })
  await attemptTask(deps, 'key_clean_up', async () => {
    await repeatWhileFull((limit) => deleteOldKeys(pools, limit), cleanUpWatch, BATCH_ROWS)
  })
  await attemptTask(deps, 'import_clean_up', async () => {
    await repeatWhileFull((limit) => deleteOldImportRows(pools, limit), cleanUpWatch, IMPORT_BATCH_ROWS)
    const fail = (limit: number) => updateAbandonedImports(pools, limit, GIVEN_UP)
    await repeatWhileFull(fail, cleanUpWatch, BATCH_FILES)
    await repeatWhileFull((limit) => deleteOldOperatorImports(pools, limit), cleanUpWatch, BATCH_FILES)
  })
}

interface RepeatedCleanUpDeps extends Omit<CleanUpDeps, 'outcomes'> {
  readonly cleanUpWatch: CleanUpWatch
  readonly meter: Metrics['meter']
  readonly config: { readonly cleanUpEveryMs: number }
}

/**
 * Cleans up with a pause of `cleanUpEveryMs` between runs. Uses a timer, because inventory runs jobs only if there are operators.
 * @returns a function that stops the clean-up after the current run
 */
export function startCleanUp(deps: RepeatedCleanUpDeps): () => Promise<void> {
  const outcomes = deps.meter.createCounter('jobs_total', { description: 'Attempts of background jobs by outcome' })
  const stopped = new AbortController()
  const ended = repeatCleanUp({ ...deps, outcomes }, deps.config.cleanUpEveryMs, stopped.signal)
  return async () => {
    stopped.abort()
    await ended
    deps.cleanUpWatch.rememberEnd()
  }
}

async function repeatCleanUp(deps: CleanUpDeps, everyMs: number, signal: AbortSignal): Promise<void> {
  deps.cleanUpWatch.rememberAlive()
  while (await hasPassed(everyMs, signal)) {
    await cleanUp(deps)
    deps.cleanUpWatch.rememberAlive()
  }
}

/** Resolves to `true` after a time in milliseconds, or to `false` as soon as the signal is aborted. */
function hasPassed(ms: number, signal: AbortSignal): Promise<boolean> {
  return setTimeout(ms, true, { signal }).catch(() => false)
}

/** Runs a task. Logs and counts a failure. The next run tries the task again. */
async function attemptTask(
  { outcomes, logger, cleanUpWatch }: Pick<CleanUpDeps, 'outcomes' | 'logger' | 'cleanUpWatch'>,
  task: string,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work()
    outcomes.add(1, { task, outcome: 'done' })
  } catch (error) {
    outcomes.add(1, { task, outcome: 'retry' })
    logger.warn({ err: error, task }, 'a task of clean-up failed')
  } finally {
    cleanUpWatch.rememberAlive()
  }
}

/** Processes batches until one is not full. Resolves to the total number of rows. */
async function repeatWhileFull(
  processBatch: (limit: number) => Promise<number>,
  cleanUpWatch: Pick<CleanUpWatch, 'rememberAlive'>,
  limit: number,
): Promise<number> {
  for (let total = 0; ; ) {
    const count = await processBatch(limit)
    cleanUpWatch.rememberAlive()
    total += count
    if (count < limit) return total
  }
}
