import type { Rows, Statement } from './driver/statement-query.ts'
import { isStatementTimeout } from './unavailable.ts'

export interface StandbyConfig {
  readonly url: string
  /** The lag in milliseconds above which a standby serves no reads. */
  readonly lagMsMax: number
  /** Called after the first check, and when the standby starts or stops serving reads. */
  readonly onChange: (isUsed: boolean, lagMs: number | undefined) => void
}

export interface StandbyState {
  /** The lag of the standby in milliseconds. `undefined` if it is not known yet. */
  readonly lagMs: number | undefined
  /** The number of reads that tolerate lag, by the server that served them. */
  readonly reads: { readonly standby: number; readonly primary: number }
}

type Ask = (statement: Statement) => Promise<Rows>

const CHECK_MS = 1_000
const PRIMARY_POSITION = position('pg_current_wal_lsn()')
/** A standby that was promoted to primary has replayed its whole log, so its own position is used. */
const STANDBY_POSITION = position(
  'CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END',
)

export interface Standby {
  /** Runs the read on the standby if its lag is small enough. Otherwise, or if the standby fails, runs the read on the primary */
  readonly choose: <T>(onStandby: () => Promise<T>, onPrimary: () => Promise<T>) => Promise<T>
  readonly state: () => StandbyState
  readonly close: () => void
}

/** Chooses primary or standby for each read that tolerates lag. Queries both log positions once a second. */
export function watchStandby(config: StandbyConfig, askPrimary: Ask, askStandby: Ask): Standby {
  const lag = trackReplicationLag()
  const reads = { standby: 0, primary: 0 }
  let wasUsed: boolean | undefined
  const isUsed = () => (lag.lagMs(performance.now()) ?? Number.POSITIVE_INFINITY) <= config.lagMsMax
  const check = async () => {
    // Ignore the error. The lag grows while a server does not answer.
    await compare(lag, askPrimary, askStandby).catch(() => {})
    const isNow = isUsed()
    if (isNow === wasUsed) return
    wasUsed = isNow
    config.onChange(isNow, lag.lagMs(performance.now()))
  }
  let isChecking = false
  const checkAlone = async () => {
    // Run only one check at a time. Otherwise checks of a server that does not answer would accumulate.
    if (isChecking) return
    isChecking = true
    await check()
    isChecking = false
  }
  void checkAlone()
  const timer = setInterval(checkAlone, CHECK_MS).unref()
  return {
    choose: async <T>(onStandby: () => Promise<T>, onPrimary: () => Promise<T>): Promise<T> => {
      if (isUsed()) {
        try {
          const found = await onStandby()
          reads.standby += 1
          return found
        } catch (error) {
          // The standby may be unavailable or lack a column that a migration has just added. A timeout would repeat on the
          // primary.
          if (isStatementTimeout(error)) throw error
        }
      }
      reads.primary += 1
      return onPrimary()
    },
    state: (): StandbyState => ({ lagMs: lag.lagMs(performance.now()), reads: { ...reads } }),
    close: (): void => clearInterval(timer),
  }
}

async function compare(lag: ReplicationLag, askPrimary: Ask, askStandby: Ask): Promise<void> {
  const nowMs = performance.now()
  const primary = readPosition(await askPrimary(PRIMARY_POSITION))
  lag.rememberPrimary(primary.position, nowMs)
  const standby = readPosition(await askStandby(STANDBY_POSITION))
  // Log positions of different clusters cannot be compared.
  if (standby.system !== primary.system) throw new Error('the standby belongs to another cluster than the primary')
  lag.rememberStandby(standby.position)
}

function position(expression: string): Statement {
  const text = `SELECT pg_wal_lsn_diff(${expression}, '0/0')::bigint AS position, system_identifier AS system
    FROM pg_control_system()`
  return { name: '', text, values: [] }
}

/** Reads the identifier of the cluster and the position in its log. A standby has the same identifier as its primary. */
function readPosition([row]: Rows): { readonly system: bigint; readonly position: bigint } {
  const { system, position: value } = row ?? {}
  if (typeof system !== 'bigint' || typeof value !== 'bigint') throw new Error('a server has returned no position')
  return { system, position: value }
}

interface ReplicationLag {
  /** @param position in the primary's log, in bytes @param atMs when the primary was queried, on a monotonic clock */
  readonly rememberPrimary: (position: bigint, atMs: number) => void
  /** Must be called after `rememberPrimary`. @param position the position up to which the standby has replayed the log */
  readonly rememberStandby: (position: bigint) => void
  /** The lag in milliseconds: the standby has all older commits. `undefined` if the lag is not known yet. */
  readonly lagMs: (nowMs: number) => number | undefined
}

/** The number of positions of the primary to keep. With one position per second, a lag of more than ten minutes is not exact. */
const SAMPLES_MAX = 600

/**
 * Creates a meter for the lag of a standby. The standby is as current as the newest known position of the primary that it has
 * replayed. The standby's own timestamps cannot be used. While a primary writes nothing, the time of the last replayed commit
 * grows old. And a standby that has lost its primary reports that it has replayed everything it received.
 */
export function trackReplicationLag(): ReplicationLag {
  let samples: { readonly position: bigint; readonly atMs: number }[] = []
  let coveredMs: number | undefined
  return {
    rememberPrimary: (position: bigint, atMs: number) => {
      samples = [...samples, { position, atMs }].slice(-SAMPLES_MAX)
    },
    rememberStandby: (position: bigint) => {
      const covered = samples.findLastIndex((sample) => sample.position <= position)
      if (covered < 0) return
      coveredMs = samples[covered]?.atMs
      samples = samples.slice(covered)
    },
    lagMs: (nowMs: number) => (coveredMs === undefined ? undefined : nowMs - coveredMs),
  }
}
