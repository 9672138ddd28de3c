import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { Metrics } from '@trestle/common/telemetry/metrics.ts'
import type { Lanes } from '@trestle/database/lanes.ts'
import { deleteOldKeys } from '../idempotency/key-repository.ts'
import { deleteOldImportRows } from '../imports/import-repository.ts'
import { callExpireReservations } from '../reservations/reservation-repository.ts'
import type { StockMetrics } from '../reservations/stock-metrics.ts'

interface UpkeepOptions {
  readonly lanes: Lanes
  readonly stockMetrics: StockMetrics
  readonly meter: Metrics['meter']
  readonly logger: Pick<ServiceLogger['logger'], 'info' | 'warn'>
  /** Pause between two runs, in milliseconds. */
  readonly everyMs: number
  /** A run counts as stuck when the database has not answered it for so many milliseconds. */
  readonly stuckMs: number
}

/** Small, because a batch keeps the levels of its reservations locked. */
const BATCH = 100
/** Larger, because nothing waits for these rows. */
const IMPORT_BATCH = 5_000

/**
 * Expires due reservations, and deletes old Idempotency-Keys and the files of imports that broke off, at an interval. Any number
 * of processes may do so at the same time (reference: Upkeep).
 */
export function createUpkeep(options: UpkeepOptions) {
  const { everyMs, stuckMs } = options
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let aliveAt = 0
  const noteAlive = () => {
    aliveAt = performance.now()
  }
  const run = createRun(options, noteAlive)
  const schedule = () => {
    noteAlive()
    timer = setTimeout(async () => {
      running = run()
      await running
      if (timer !== undefined) schedule()
    }, everyMs)
  }
  return {
    /** Runs once: works through everything that is due now. */
    run,
    start: (): void => {
      if (timer === undefined) schedule()
    },
    /** Throws when the upkeep was not started, or is stuck. A failed run does not count, because the next run may succeed. */
    check: async (): Promise<void> => {
      if (timer === undefined || performance.now() - aliveAt > everyMs + stuckMs)
        throw new Error('nothing ends reservations that are due')
    },
    /** Stops after the run that is under way. */
    stop: async (): Promise<void> => {
      clearTimeout(timer)
      timer = undefined
      await running
    },
  }
}

/**
 * Returns a function that runs every task once. A task that fails is logged and counted, and the next run tries it again.
 * @param noteAlive called whenever the database has answered
 */
function createRun({ lanes, stockMetrics, meter, logger }: UpkeepOptions, noteAlive: () => void): () => Promise<void> {
  const outcomes = meter.createCounter('jobs_total', { description: 'Attempts of background jobs by outcome' })
  const attempt = async (task: string, work: () => Promise<void>): Promise<void> => {
    try {
      await work()
      outcomes.add(1, { task, outcome: 'done' })
    } catch (error) {
      noteAlive()
      outcomes.add(1, { task, outcome: 'retry' })
      logger.warn({ err: error, task }, 'upkeep failed')
    }
  }
  const expireReservations = async (): Promise<void> => {
    const count = await repeatWhileFull((limit) => callExpireReservations(lanes, limit), noteAlive)
    stockMetrics.countReservation('expired', count)
    if (count > 0) logger.info({ event: 'reservation.expired', count }, 'reservations have expired')
  }
  const deleteKeys = async (): Promise<void> => {
    await repeatWhileFull((limit) => deleteOldKeys(lanes, limit), noteAlive)
  }
  const deleteImports = async (): Promise<void> => {
    await repeatWhileFull((limit) => deleteOldImportRows(lanes, limit), noteAlive, IMPORT_BATCH)
  }
  return async () => {
    await attempt('reservation_expiry', expireReservations)
    await attempt('key_clean_up', deleteKeys)
    await attempt('import_clean_up', deleteImports)
  }
}

/** Processes batches until one is not full. Resolves to how many rows there were in all. */
async function repeatWhileFull(
  processBatch: (limit: number) => Promise<number>,
  noteAlive: () => void,
  limit = BATCH,
): Promise<number> {
  for (let total = 0; ; ) {
    const count = await processBatch(limit)
    noteAlive()
    total += count
    if (count < limit) return total
  }
}
