import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { askHealth, createReadiness } from './readiness.ts'

describe('createReadiness', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('runs a check once for all callers within a second', async () => {
    const pending = Promise.withResolvers<void>()
    const check = vi.fn(() => pending.promise)
    const readiness = createReadiness({ database: check })
    readiness.markReady()
    const together = [readiness.missing(), readiness.missing(), readiness.report()]
    pending.resolve()
    expect(await Promise.all(together)).toEqual([undefined, undefined, { process: true, database: true }])
    await vi.advanceTimersByTimeAsync(999)
    expect(await readiness.missing()).toBeUndefined()
    expect(check).toHaveBeenCalledTimes(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(await readiness.missing()).toBeUndefined()
    expect(check).toHaveBeenCalledTimes(2)
  })

  it('reports after a second that a check fails, and that it passes again', async () => {
    let isAway = false
    const check = async () => {
      if (isAway) throw new Error('away')
    }
    const readiness = createReadiness({ migrations: async () => {}, database: check })
    readiness.markReady()
    expect(await readiness.missing()).toBeUndefined()
    isAway = true
    await vi.advanceTimersByTimeAsync(1_000)
    expect(await readiness.missing()).toEqual({ check: 'database' })
    isAway = false
    await vi.advanceTimersByTimeAsync(1_000)
    expect(await readiness.report()).toEqual({ process: true, migrations: true, database: true })
  })

  it('counts a check that takes longer than two seconds as failed', async () => {
    const readiness = createReadiness({ database: () => new Promise(() => {}) })
    readiness.markReady()
    const missing = readiness.missing()
    await vi.advanceTimersByTimeAsync(2_000)
    expect(await missing).toEqual({ check: 'database' })
  })

  it('reports at once that the process is about to stop', async () => {
    const readiness = createReadiness({ database: async () => {} })
    readiness.markReady()
    expect(await readiness.missing()).toBeUndefined()
    readiness.drain()
    expect(await readiness.missing()).toEqual({ state: 'draining' })
  })
})

describe('askHealth', () => {
  it.each([
    ['what answers', () => Promise.resolve(), 'ok'],
    ['what rejects', () => Promise.reject(new Error('refused')), 'does not answer'],
    ['what never answers', () => new Promise(() => {}), 'does not answer'],
  ])('tells of %s whether it works, in time', async (_what, ask, expected) => {
    expect(await askHealth(ask, 'does not answer', 5)).toBe(expected)
  })
})
