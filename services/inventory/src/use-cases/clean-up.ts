import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { Metrics } from '@trestle/common/telemetry/metrics.ts'
import type { Lanes } from '@trestle/database/lanes.ts'
import { deleteOldKeys } from '../idempotency/key-repository.ts'
import { deleteOldImportRows } from '../imports/import-repository.ts'
import { callExpireReservations } from '../reservations/reservation-repository.ts'
import type { StockMetrics } from '../reservations/stock-metrics.ts'

interface CleanUpDeps {
  readonly lanes: Lanes
  readonly stockMetrics: StockMetrics
  /** Counts the tasks of each run by outcome. */
  readonly outcomes: ReturnType<Metrics['meter']['createCounter']>
  readonly logger: Pick<ServiceLogger['logger'], 'info' | 'warn'>
}

/** Small, because a batch keeps the levels of its reservations locked. */
const BATCH_ROWS = 100
/** Larger, because nothing waits for these rows. */
const IMPORT_BATCH_ROWS = 5_000

interface CleanUpTimes {
  /** Pause between two runs, in milliseconds. */
  readonly everyMs: number
  /** A run counts as stuck when the database has not answered it for so many milliseconds. */
  readonly stuckMs: number
}

/** The clean-up of a process, which repeats from `start` to `stop`. */
export interface CleanUp {
  /** Runs after each pause. A second start does nothing. */
  start(): void
  /**
   * For the readiness of the process. A failed run does not count, because the next may succeed.
   * @throws Error when clean-up was not started, or its run is stuck
   */
  check(): Promise<void>
  /** Stops after the run that is under way. */
  stop(): Promise<void>
}

/** Makes the clean-up of a process. It runs by a timer, because inventory has no job queue. */
export function createCleanUp(deps: CleanUpDeps, { everyMs, stuckMs }: CleanUpTimes): CleanUp {
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let aliveAt = 0
  const noteAlive = (): void => {
    aliveAt = performance.now()
  }
  const pause = (): void => {
    noteAlive()
    timer = setTimeout(async () => {
      running = cleanUp(deps, noteAlive)
      await running
      if (timer !== undefined) pause()
    }, everyMs)
  }
  return {
    start: () => {
      if (timer === undefined) pause()
    },
    check: async () => {
      if (timer === undefined || performance.now() - aliveAt > everyMs + stuckMs)
        throw new Error('nothing ends reservations that are due')
    },
    stop: async () => {
      clearTimeout(timer)
      timer = undefined
      await running
    },
  }
}

/**
 * Expires due reservations, and deletes old Idempotency-Keys and the files of imports that broke off (reference: Clean-up). Any
 * number of processes may do so at the same time: each batch takes rows that no other has. What is done stays done, so a run that
 * ends early leaves the rest to the next one. A second run finds nothing more to do.
 * @param noteAnswer called whenever the database has answered
 */
export async function cleanUp(deps: CleanUpDeps, noteAnswer: () => void): Promise<void> {
  const { lanes, logger, stockMetrics } = deps
  const attempt = (task: string, work: () => Promise<void>) => attemptTask(deps, task, work).finally(noteAnswer)
  await attempt('reservation_expiry', async () => {
    const count = await repeatWhileFull((limit) => callExpireReservations(lanes, limit), noteAnswer, BATCH_ROWS)
    stockMetrics.countReservation('expired', count)
    if (count > 0) logger.info({ event: 'reservation.expired', count }, 'reservations have expired')
  })
  await attempt('key_clean_up', async () => {
    await repeatWhileFull((limit) => deleteOldKeys(lanes, limit), noteAnswer, BATCH_ROWS)
  })
  await attempt('import_clean_up', async () => {
    await repeatWhileFull((limit) => deleteOldImportRows(lanes, limit), noteAnswer, IMPORT_BATCH_ROWS)
  })
}

/** Does a task of a run. A task that fails is logged and counted, and the next run tries it again. */
async function attemptTask(
  { outcomes, logger }: Pick<CleanUpDeps, 'outcomes' | 'logger'>,
  task: string,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work()
    outcomes.add(1, { task, outcome: 'done' })
  } catch (error) {
    outcomes.add(1, { task, outcome: 'retry' })
    logger.warn({ err: error, task }, 'a task of clean-up failed')
  }
}

/** Processes batches until one is not full. Resolves to how many rows there were in all. */
async function repeatWhileFull(
  processBatch: (limit: number) => Promise<number>,
  noteAnswer: () => void,
  limit: number,
): Promise<number> {
  for (let total = 0; ; ) {
    const count = await processBatch(limit)
    noteAnswer()
    total += count
    if (count < limit) return total
  }
}
