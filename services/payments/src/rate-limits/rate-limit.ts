import { addressKey } from '@trestle/common/server/address-key.ts'
import type { LimiterStore } from '@trestle/rate-limits/limiter-store.ts'

/** Counts events of one kind by key. */
export interface RateLimit {
  /** Counts one event. Resolves to undefined while the key is within its limit, else to whole seconds to wait, at least 1. */
  consume(key: string): Promise<number | undefined>
  /** Does not count. Resolves to undefined while an event is left, else to whole seconds to wait, at least 1. */
  wait(key: string): Promise<number | undefined>
  /** Takes one event back that was counted at `takenMs` of `performance.now()`, where the limit is returnable. */
  giveBack(key: string, takenMs: number): Promise<void>
}

interface RateLimitWindow {
  /** Part of every key. */
  readonly name: string
  /** 0 switches the limit off. */
  readonly events: number
  readonly seconds: number
  readonly returnable?: boolean
}

const UNLIMITED: RateLimit = { consume: async () => undefined, wait: async () => undefined, giveBack: async () => {} }

/** Makes a limit of so many events in a window, for each key. With 0 events there is no limit. */
export function createRateLimit(
  { name, events, seconds, returnable = false }: RateLimitWindow,
  store: LimiterStore,
): RateLimit {
  if (events === 0) return UNLIMITED
  const limiter = store(name, { points: events, durationSeconds: seconds, returnable })
  return {
    consume: async (key) => toSeconds(await limiter.consume(key)),
    wait: async (key) => toSeconds(await limiter.waitMs(key)),
    giveBack: (key, takenMs) => limiter.reward(key, takenMs),
  }
}

function toSeconds(waitMs: number | undefined): number | undefined {
  return waitMs === undefined ? undefined : Math.max(1, Math.ceil(waitMs / 1_000))
}

/**
 * Turns a limit into one whose keys are addresses of clients. An IPv6 address counts as the block of
 * addresses that one client has.
 */
export function byAddress({ consume, wait, giveBack }: RateLimit): RateLimit {
  return {
    consume: (address) => consume(addressKey(address)),
    wait: (address) => wait(addressKey(address)),
    giveBack: (address, takenMs) => giveBack(addressKey(address), takenMs),
  }
}
