import { addressKey } from '@trestle/common/server/address-key.ts'
import type { LimiterStore } from '@trestle/service/limiter-store.ts'

/** Counts events of one kind by key. */
export interface RateLimit {
  /** How many a window has; endless when the limit is off. */
  readonly events: number
  /** Counts one event. Resolves to undefined while the key is within its limit, else to whole seconds to wait, at least 1. */
  consume(key: string): Promise<number | undefined>
  /** Counts nothing. Resolves to undefined while an event is left, else to whole seconds to wait, at least 1. */
  wait(key: string): Promise<number | undefined>
}

/** The limits of the service, by what they count. An address of IPv6 stands for its network. @see contract 21 */
export interface RateLimits {
  /** Requests, by the MAC of their key. */
  readonly requests: RateLimit
  /** New apps, by address. */
  readonly apps: RateLimit
  /** Requests with a key that is not good, by address. */
  readonly failures: RateLimit
  /** Requests of the checkout, by address. */
  readonly checkouts: RateLimit
  /** Cards that were refused at live merchants, by address. */
  readonly refusals: RateLimit
  /** Invitations by mail, by a digest of the address that they go to. */
  readonly mails: RateLimit
  /** Invitations that are asked for, by whoever asks: a key or a person; and by the address that it comes from. */
  readonly invitations: RateLimit
  readonly invitationAddresses: RateLimit
}

/** The settings of the limits; 0 switches one off. */
export interface RateLimitConfig {
  readonly requestsPerSecond: number
  readonly appsPerMinute: number
  readonly failuresPerMinute: number
  readonly checkoutsPerSecond: number
  readonly refusalsPerTenMinutes: number
  readonly mailsPerHour: number
  readonly invitationsPerHour: number
}

/** Windows of more than a second's allowance let a client be uneven. */
const REQUEST_WINDOW_SECONDS = 2
const CHECKOUT_WINDOW_SECONDS = 3
const REFUSAL_WINDOW_SECONDS = 600

export function createRateLimits(config: RateLimitConfig, store: LimiterStore): RateLimits {
  const { requestsPerSecond, appsPerMinute, failuresPerMinute, mailsPerHour, invitationsPerHour } = config
  const { checkoutsPerSecond, refusalsPerTenMinutes } = config
  const requests = requestsPerSecond * REQUEST_WINDOW_SECONDS
  const checkouts = checkoutsPerSecond * CHECKOUT_WINDOW_SECONDS
  const invitations = { events: invitationsPerHour, seconds: 3_600 }
  const refusals = { name: 'refusal', events: refusalsPerTenMinutes, seconds: REFUSAL_WINDOW_SECONDS }
  return {
    requests: createRateLimit({ name: 'request', events: requests, seconds: REQUEST_WINDOW_SECONDS }, store),
    apps: byAddress(createRateLimit({ name: 'app', events: appsPerMinute, seconds: 60 }, store)),
    failures: byAddress(createRateLimit({ name: 'failure', events: failuresPerMinute, seconds: 60 }, store)),
    checkouts: byAddress(
      createRateLimit({ name: 'checkout', events: checkouts, seconds: CHECKOUT_WINDOW_SECONDS }, store),
    ),
    refusals: byAddress(createRateLimit(refusals, store)),
    mails: createRateLimit({ name: 'mail', events: mailsPerHour, seconds: 3_600 }, store),
    invitations: createRateLimit({ name: 'invitation', ...invitations }, store),
    invitationAddresses: byAddress(createRateLimit({ name: 'invitation-address', ...invitations }, store)),
  }
}

function byAddress({ events, consume, wait }: RateLimit): RateLimit {
  return { events, consume: (address) => consume(addressKey(address)), wait: (address) => wait(addressKey(address)) }
}

interface RateLimitWindow {
  /** Part of every key. */
  readonly name: string
  /** 0 switches the limit off. */
  readonly events: number
  readonly seconds: number
}

function createRateLimit({ name, events, seconds }: RateLimitWindow, store: LimiterStore): RateLimit {
  if (events === 0) return { events: Infinity, consume: async () => undefined, wait: async () => undefined }
  const limiter = store(name, { points: events, durationSeconds: seconds })
  return {
    events,
    consume: async (key) => toSeconds(await limiter.consume(key)),
    wait: async (key) => toSeconds(await limiter.waitMs(key)),
  }
}

function toSeconds(waitMs: number | undefined): number | undefined {
  return waitMs === undefined ? undefined : Math.max(1, Math.ceil(waitMs / 1_000))
}
