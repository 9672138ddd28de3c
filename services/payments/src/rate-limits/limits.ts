import type { LimiterStore } from '@trestle/service/limiter-store.ts'

/** Counts events of one kind by key. */
export interface RateLimit {
  /** Counts one event. Resolves to undefined while the key is within its limit, else to whole seconds to wait, at least 1. */
  consume(key: string): Promise<number | undefined>
}

/** The limits of the service, by what they count. @see contract 21 */
export interface RateLimits {
  /** Requests, by the MAC of their key. */
  readonly requests: RateLimit
  /** New apps, by address. */
  readonly apps: RateLimit
  /** Requests with a key that is not good, by address. */
  readonly failures: RateLimit
}

/** The settings of the limits; 0 switches one off. */
export interface RateLimitConfig {
  readonly requestsPerSecond: number
  readonly appsPerMinute: number
  readonly failuresPerMinute: number
}

/** A window of twice the second's allowance lets a client be uneven. */
const REQUEST_WINDOW_SECONDS = 2

export function createRateLimits(config: RateLimitConfig, store: LimiterStore): RateLimits {
  const { requestsPerSecond, appsPerMinute, failuresPerMinute } = config
  const requests = requestsPerSecond * REQUEST_WINDOW_SECONDS
  return {
    requests: createRateLimit({ name: 'request', events: requests, seconds: REQUEST_WINDOW_SECONDS }, store),
    apps: createRateLimit({ name: 'app', events: appsPerMinute, seconds: 60 }, store),
    failures: createRateLimit({ name: 'failure', events: failuresPerMinute, seconds: 60 }, store),
  }
}

interface RateLimitWindow {
  /** Part of every key. */
  readonly name: string
  /** 0 switches the limit off. */
  readonly events: number
  readonly seconds: number
}

function createRateLimit({ name, events, seconds }: RateLimitWindow, store: LimiterStore): RateLimit {
  if (events === 0) return { consume: async () => undefined }
  const limiter = store(name, { points: events, durationSeconds: seconds })
  return {
    consume: async (key) => {
      const waitMs = await limiter.consume(key)
      return waitMs === undefined ? undefined : Math.max(1, Math.ceil(waitMs / 1_000))
    },
  }
}
