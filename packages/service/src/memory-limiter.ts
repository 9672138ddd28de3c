import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { CountSketch } from './count-sketch.ts'
import type { Limiter, Window } from './limiter-store.ts'

export interface MemoryLimiterOptions {
  readonly name: string
  readonly window: Window
  /** Keys that are counted exactly. */
  readonly keysMax: number
}

/**
 * Counts in this process. Of more keys than it may remember, those whose window began first are counted roughly: whoever tries
 * one name after the other fills no memory, and a flood of other keys gives nobody back the uses of theirs.
 */
export function memoryLimiter({ name, window, keysMax }: MemoryLimiterOptions): Limiter {
  const { points, durationSeconds } = window
  const periodMs = durationSeconds * 1_000
  const limiter = new RateLimiterMemory({ keyPrefix: name, points, duration: durationSeconds })
  /** In the order in which their windows began, with the uses that they began with. */
  const exact = new Map<string, number>()
  let rough: CountSketch | undefined
  const forgetOldest = async () => {
    const [[oldest, before] = []] = exact
    if (oldest === undefined || before === undefined) return
    exact.delete(oldest)
    const state = await limiter.get(oldest)
    await limiter.delete(oldest)
    if (!state) return
    rough ??= new CountSketch(periodMs, performance.now())
    rough.add(oldest, state.consumedPoints - before, performance.now())
  }
  const usesBefore = (key: string) => rough?.read(key, performance.now()) ?? 0
  return {
    consume: async (key) => {
      const used = await use(limiter, key)
      if (used.consumedPoints !== 1) return used.consumedPoints > points ? used.msBeforeNext : undefined
      // Its window begins.
      const before = Math.min(points, usesBefore(key))
      exact.delete(key)
      exact.set(key, before)
      if (exact.size > keysMax) await forgetOldest()
      if (before > 0) await limiter.penalty(key, before)
      return before >= points ? used.msBeforeNext : undefined
    },
    waitMs: async (key) => {
      const state = await limiter.get(key)
      if (state) return state.remainingPoints <= 0 ? state.msBeforeNext : undefined
      return usesBefore(key) >= points ? periodMs : undefined
    },
    reward: async (key) => {
      await limiter.reward(key)
    },
  }
}

/** Counts one use, also one that is too many. */
async function use(limiter: RateLimiterMemory, key: string): Promise<RateLimiterRes> {
  try {
    return await limiter.consume(key)
  } catch (refused) {
    // The library throws its result when the points are used up.
    if (refused instanceof RateLimiterRes) return refused
    throw refused
  }
}
