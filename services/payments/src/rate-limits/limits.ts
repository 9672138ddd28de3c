import { addressKey } from '@trestle/common/server/address-key.ts'
import type { LimiterStore } from '@trestle/service/limiter-store.ts'

/** Counts events of one kind by key. */
export interface RateLimit {
  /** Counts one event. Resolves to undefined while the key is within its limit, else to whole seconds to wait, at least 1. */
  consume(key: string): Promise<number | undefined>
  /** Counts nothing. Resolves to undefined while an event is left, else to whole seconds to wait, at least 1. */
  wait(key: string): Promise<number | undefined>
  /** Takes one event back, of a limit that is returnable. */
  giveBack(key: string): Promise<void>
}

/** The limits of the service. An address of IPv6 counts by its network (reference: Rate limits). */
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
  const refusals = { events: refusalsPerTenMinutes, seconds: REFUSAL_WINDOW_SECONDS, returnable: true }
  return {
    requests: createRateLimit({ name: 'request', events: requests, seconds: REQUEST_WINDOW_SECONDS }, store),
    apps: byAddress(createRateLimit({ name: 'app', events: appsPerMinute, seconds: 60 }, store)),
    failures: byAddress(createRateLimit({ name: 'failure', events: failuresPerMinute, seconds: 60 }, store)),
    checkouts: byAddress(
      createRateLimit({ name: 'checkout', events: checkouts, seconds: CHECKOUT_WINDOW_SECONDS }, store),
    ),
    refusals: byAddress(createRateLimit({ name: 'refusal', ...refusals }, store)),
    mails: createRateLimit({ name: 'mail', events: mailsPerHour, seconds: 3_600, returnable: true }, store),
    invitations: createRateLimit({ name: 'invitation', ...invitations }, store),
    invitationAddresses: byAddress(createRateLimit({ name: 'invitation-address', ...invitations }, store)),
  }
}

function byAddress({ consume, wait, giveBack }: RateLimit): RateLimit {
  return {
    consume: (address) => consume(addressKey(address)),
    wait: (address) => wait(addressKey(address)),
    giveBack: (address) => giveBack(addressKey(address)),
  }
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

function createRateLimit(
  { name, events, seconds, returnable = false }: RateLimitWindow,
  store: LimiterStore,
): RateLimit {
  if (events === 0) return UNLIMITED
  const limiter = store(name, { points: events, durationSeconds: seconds, returnable })
  return {
    consume: async (key) => toSeconds(await limiter.consume(key)),
    wait: async (key) => toSeconds(await limiter.waitMs(key)),
    giveBack: (key) => limiter.reward(key),
  }
}

function toSeconds(waitMs: number | undefined): number | undefined {
  return waitMs === undefined ? undefined : Math.max(1, Math.ceil(waitMs / 1_000))
}
