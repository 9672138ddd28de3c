import { createRateLimit, type RateLimit, type RateLimitStore } from './rate-limit.ts'

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

export function createRateLimits(config: RateLimitConfig, store: RateLimitStore): RateLimits {
  const { requestsPerSecond, appsPerMinute, failuresPerMinute } = config
  const requests = requestsPerSecond * REQUEST_WINDOW_SECONDS
  return {
    requests: createRateLimit({ name: 'request', events: requests, seconds: REQUEST_WINDOW_SECONDS }, store),
    apps: createRateLimit({ name: 'app', events: appsPerMinute, seconds: 60 }, store),
    failures: createRateLimit({ name: 'failure', events: failuresPerMinute, seconds: 60 }, store),
  }
}
