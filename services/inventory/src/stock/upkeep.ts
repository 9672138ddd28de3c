import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { Metrics } from '@trestle/common/telemetry/metrics.ts'
import type { Lanes } from '@trestle/database/lanes.ts'
import { callForgetKeys } from '../idempotency/key-repository.ts'
import { callForgetImports } from '../imports/staging-repository.ts'
import { callExpireReservations } from '../reservations/reservation-repository.ts'
import type { StockMetrics } from './stock-metrics.ts'

/**
 * Expires due reservations, and deletes old Idempotency-Keys and the files of imports that broke off, at an interval. Safe in
 * any number of processes (reference: Upkeep).
 */
export interface Upkeep {
  start(): void
  /** One turn: everything that is over now. */
  run(): Promise<void>
  /** Throws unless it goes on by itself, turn by turn; one that fails counts too, since the next may fare better. */
  check(): Promise<void>
  /** Ends after the turn that is under way. */
  stop(): Promise<void>
}

interface UpkeepOptions {
  readonly lanes: Lanes
  readonly stockMetrics: StockMetrics
  readonly meter: Metrics['meter']
  readonly logger: Pick<ServiceLogger['logger'], 'info' | 'warn'>
  readonly everyMs: number
  /** After how many milliseconds without an answer of the database a turn counts as stuck. */
  readonly stuckMs: number
}

/** So few that nobody waits long for a level. */
const BATCH = 100
/** Rows that nobody waits for. */
const IMPORT_BATCH = 5_000

export function createUpkeep(options: UpkeepOptions): Upkeep {
  const { everyMs, stuckMs } = options
  let timer: NodeJS.Timeout | undefined
  let turn: Promise<void> | undefined
  let movedAt = 0
  const move = () => {
    movedAt = performance.now()
  }
  const run = createTurn(options, move)
  const again = () => {
    move()
    timer = setTimeout(async () => {
      turn = run()
      await turn
      if (timer !== undefined) again()
    }, everyMs)
  }
  return {
    run,
    start: () => {
      if (timer === undefined) again()
    },
    check: async () => {
      if (timer === undefined || performance.now() - movedAt > everyMs + stuckMs)
        throw new Error('nothing ends reservations that are due')
    },
    stop: async () => {
      clearTimeout(timer)
      timer = undefined
      await turn
    },
  }
}

/**
 * What fails is logged, counted, and tried again in the next turn.
 * @param move called after each call of the database
 */
function createTurn({ lanes, stockMetrics, meter, logger }: UpkeepOptions, move: () => void): () => Promise<void> {
  const outcomes = meter.createCounter('jobs_total', { description: 'Attempts of background jobs by outcome' })
  const attempt = async (task: string, work: () => Promise<void>): Promise<void> => {
    try {
      await work()
      outcomes.add(1, { task, outcome: 'done' })
    } catch (error) {
      move()
      outcomes.add(1, { task, outcome: 'retry' })
      logger.warn({ err: error, task }, 'upkeep failed')
    }
  }
  const expire = async (): Promise<void> => {
    const count = await drain((limit) => callExpireReservations(lanes, limit), move)
    stockMetrics.countReservation('expired', count)
    if (count > 0) logger.info({ event: 'reservation.expired', count }, 'reservations have expired')
  }
  const forget = async (): Promise<void> => {
    await drain((limit) => callForgetKeys(lanes, limit), move)
  }
  const forgetImports = async (): Promise<void> => {
    await drain((limit) => callForgetImports(lanes, limit), move, IMPORT_BATCH)
  }
  return async () => {
    await attempt('reservation_expiry', expire)
    await attempt('key_clean_up', forget)
    await attempt('import_clean_up', forgetImports)
  }
}

/** Takes batches as long as they are full, answers how much they held. */
async function drain(take: (limit: number) => Promise<number>, move: () => void, limit = BATCH): Promise<number> {
  for (let total = 0; ; ) {
    const taken = await take(limit)
    move()
    total += taken
    if (taken < limit) return total
  }
}
