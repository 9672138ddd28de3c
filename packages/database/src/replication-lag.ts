/** What is known of how far a standby is behind. Times are milliseconds of one clock, positions are bytes of the log. */
export interface ReplicationLag {
  /** Notes where the primary was at a time. */
  notePrimary(position: bigint, atMs: number): void
  /** Notes what the standby has replayed, asked after the primary. */
  noteStandby(position: bigint): void
  /** Everything that was committed so long ago is on the standby; undefined: nothing is known. */
  lagMs(nowMs: number): number | undefined
}

/** Beyond this no lag is told from another. */
const SAMPLES_MAX = 600

/**
 * The standby is as new as the latest position of the primary that it has replayed. Its own clocks would not do: a primary
 * without writes lets the time of the last replayed commit grow old, and a standby that has lost its primary is up to date
 * with what it has received.
 */
export function trackReplicationLag(): ReplicationLag {
  let samples: { readonly position: bigint; readonly atMs: number }[] = []
  let coveredMs: number | undefined
  return {
    notePrimary: (position, atMs) => {
      samples = [...samples, { position, atMs }].slice(-SAMPLES_MAX)
    },
    noteStandby: (position) => {
      const covered = samples.findLastIndex((sample) => sample.position <= position)
      if (covered < 0) return
      coveredMs = samples[covered]?.atMs
      samples = samples.slice(covered)
    },
    lagMs: (nowMs) => (coveredMs === undefined ? undefined : nowMs - coveredMs),
  }
}
