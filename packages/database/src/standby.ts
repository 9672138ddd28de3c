import type { Rows, Statement } from './driver/statement-query.ts'
import { type ReplicationLag, trackReplicationLag } from './replication-lag.ts'
import { isStatementTimeout } from './unavailable.ts'

/** What a service says of its standby. */
export interface StandbyConfig {
  /** `postgres://…` */
  readonly url: string
  /** A standby that is further behind is not asked, in milliseconds. */
  readonly lagMaxMs: number
  /** Told after the first look at it whether reads go there, and whenever that changes. */
  readonly onChange: (isAsked: boolean, lagMs: number | undefined) => void
}

/** What is known of the standby. */
export interface StandbyState {
  readonly lagMs: number | undefined
  /** Reads that might lag behind, by who has served them. */
  readonly reads: { readonly standby: number; readonly primary: number }
}

/** Decides for each read that may lag behind who is asked. */
export interface StandbyChoice {
  /** The standby where it keeps up; the primary else, and again where the standby fails. */
  choose<T>(onStandby: () => Promise<T>, onPrimary: () => Promise<T>): Promise<T>
  state(): StandbyState
  close(): void
}

type Ask = (statement: Statement) => Promise<Rows>

const CHECK_MS = 1_000
const PRIMARY_POSITION = position('pg_current_wal_lsn()')
/** One that was promoted has replayed all that there is. */
const STANDBY_POSITION = position(
  'CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END',
)

/** Asks both every second how far they are, over their read lanes. */
export function watchStandby(config: StandbyConfig, askPrimary: Ask, askStandby: Ask): StandbyChoice {
  const lag = trackReplicationLag()
  const reads = { standby: 0, primary: 0 }
  let wasAsked: boolean | undefined
  const isAsked = () => (lag.lagMs(performance.now()) ?? Number.POSITIVE_INFINITY) <= config.lagMaxMs
  const check = async () => {
    // What does not answer makes the lag grow.
    await compare(lag, askPrimary, askStandby).catch(() => {})
    const isNow = isAsked()
    if (isNow === wasAsked) return
    wasAsked = isNow
    config.onChange(isNow, lag.lagMs(performance.now()))
  }
  let isChecking = false
  const checkAlone = async () => {
    // A server that does not answer would let looks at it gather.
    if (isChecking) return
    isChecking = true
    await check()
    isChecking = false
  }
  void checkAlone()
  const timer = setInterval(checkAlone, CHECK_MS).unref()
  return {
    choose: async (onStandby, onPrimary) => {
      if (isAsked()) {
        try {
          const found = await onStandby()
          reads.standby += 1
          return found
        } catch (error) {
          // It may be away, or lack a column that a migration has just added. What takes too long does so there as well.
          if (isStatementTimeout(error)) throw error
        }
      }
      reads.primary += 1
      return onPrimary()
    },
    state: () => ({ lagMs: lag.lagMs(performance.now()), reads: { ...reads } }),
    close: () => clearInterval(timer),
  }
}

async function compare(lag: ReplicationLag, askPrimary: Ask, askStandby: Ask): Promise<void> {
  const nowMs = performance.now()
  const primary = placeIn(await askPrimary(PRIMARY_POSITION))
  lag.notePrimary(primary.position, nowMs)
  const standby = placeIn(await askStandby(STANDBY_POSITION))
  // Positions of two clusters say nothing about each other.
  if (standby.system !== primary.system) throw new Error('the standby is of another cluster than the primary')
  lag.noteStandby(standby.position)
}

function position(expression: string): Statement {
  const text = `SELECT pg_wal_lsn_diff(${expression}, '0/0')::bigint AS position, system_identifier AS system
    FROM pg_control_system()`
  return { name: '', text, values: [] }
}

/** The cluster, which a standby has from its primary, and how far its log is. */
function placeIn([row]: Rows): { readonly system: bigint; readonly position: bigint } {
  const { system, position: value } = row ?? {}
  if (typeof system !== 'bigint' || typeof value !== 'bigint') throw new Error('a server has not said how far it is')
  return { system, position: value }
}
