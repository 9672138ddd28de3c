import { describe, expect, it } from 'vitest'
import { trackReplicationLag } from './replication-lag.ts'

describe('trackReplicationLag', () => {
  it('knows nothing before the standby has replayed something that the primary was seen to have', () => {
    const lag = trackReplicationLag()
    expect(lag.lagMs(1_000)).toBeUndefined()
    lag.noteStandby(50n)
    expect(lag.lagMs(1_000)).toBeUndefined()
    lag.notePrimary(100n, 1_000)
    lag.noteStandby(99n)
    expect(lag.lagMs(1_100)).toBeUndefined()
  })

  it('counts from the latest position that was replayed', () => {
    const lag = trackReplicationLag()
    lag.notePrimary(100n, 1_000)
    lag.notePrimary(200n, 2_000)
    lag.notePrimary(300n, 3_000)
    lag.noteStandby(299n)
    expect(lag.lagMs(3_010)).toBe(1_010)
    lag.noteStandby(300n)
    expect(lag.lagMs(3_010)).toBe(10)
  })

  it('takes a standby for up to date as long as the primary stands still', () => {
    const lag = trackReplicationLag()
    for (let second = 1; second <= 1_000; second += 1) lag.notePrimary(100n, second * 1_000)
    lag.noteStandby(100n)
    expect(lag.lagMs(1_000_000)).toBe(0)
  })

  it('grows while nobody can say better, and while the standby stands still', () => {
    const lag = trackReplicationLag()
    lag.notePrimary(100n, 1_000)
    lag.noteStandby(100n)
    expect(lag.lagMs(60_000)).toBe(59_000)
    for (let second = 2; second <= 2_000; second += 1) lag.notePrimary(BigInt(100 * second), second * 1_000)
    lag.noteStandby(100n)
    expect(lag.lagMs(2_000_000)).toBe(1_999_000)
  })
})
