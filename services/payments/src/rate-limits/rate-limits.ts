import type { Meter } from '@opentelemetry/api'
import { addressKey } from '@trestle/common/server/address-key.ts'
import { startAtZero } from '@trestle/common/telemetry/start-at-zero.ts'
import type { LimiterStore } from '@trestle/rate-limits/limiter-store.ts'
import type { RateLimitConfig } from '../config/rate-limits.ts'
import { rateLimited } from '../errors.ts'

/** The limits of the service. An IPv6 address counts by its network (reference: Rate limits). */
export interface RateLimits {
  /** Requests, by the MAC of their key. */
  readonly requests: RateLimit
  /** New apps, by address. */
  readonly apps: RateLimit
  /** Requests with a bad key, by address. */
  readonly failures: RateLimit
  /** Requests of the checkout, by address. */
  readonly checkouts: RateLimit
  /** Refused cards at live merchants, by address. */
  readonly refusals: RateLimit
  /** Invitation mails, by a digest of the email address. */
  readonly mails: RateLimit
  /** Invitations, by key or user. */
  readonly invitations: RateLimit
  /** Invitations, by address. */
  readonly invitationAddresses: RateLimit
}

/** Windows longer than a second let a client send unevenly. */
const REQUEST_WINDOW_SECONDS = 2
const CHECKOUT_WINDOW_SECONDS = 3
const REFUSAL_WINDOW_SECONDS = 600

/** Makes all rate limits of the service over one store. */
export function createRateLimits(config: RateLimitConfig, store: LimiterStore): RateLimits {
  const { requestsPerSecond, appsPerMinute, failuresPerMinute, mailsPerHour, invitationsPerHour } = config
  const { checkoutsPerSecond, refusalsPerTenMinutes } = config
  const requests = requestsPerSecond * REQUEST_WINDOW_SECONDS
  const checkouts = checkoutsPerSecond * CHECKOUT_WINDOW_SECONDS
  const invitations = { events: invitationsPerHour, seconds: 3_600, returnable: true }
  const refusals = { events: refusalsPerTenMinutes, seconds: REFUSAL_WINDOW_SECONDS, returnable: true }
  return {
    requests: createRateLimit({ name: 'request', events: requests, seconds: REQUEST_WINDOW_SECONDS }, store),
    apps: byAddress(createRateLimit({ name: 'app', events: appsPerMinute, seconds: 60, returnable: true }, store)),
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
function createRateLimit(
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
function byAddress({ consume, wait, giveBack }: RateLimit): RateLimit {
  return {
    consume: (address) => consume(addressKey(address)),
    wait: (address) => wait(addressKey(address)),
    giveBack: (address, takenMs) => giveBack(addressKey(address), takenMs),
  }
}

/** Returns a function that throws rateLimited with Retry-After. Refusals are counted under `scope`. */
export function createRefusal(meter: Meter, scope: string): (seconds: number) => never {
  const counter = meter.createCounter('payments_rate_limited_total', { description: 'Requests refused by rate' })
  const refused = startAtZero(counter, [{ scope }])
  return (seconds) => {
    refused.add(1, { scope })
    throw rateLimited({ headers: { 'retry-after': String(seconds) } })
  }
}

/** An event that was counted before it happened. */
export interface TakenEvent {
  /** Takes the event back, because it did not happen. */
  giveBack(): Promise<void>
}

/**
 * Counts one event before it has happened, so that events at once stay within the limit. A refused event is not counted.
 * @returns the counted event, or whole seconds to wait, at least 1
 */
export async function takeEvent(limit: RateLimit, key: string): Promise<TakenEvent | number> {
  const noneLeft = await limit.wait(key)
  if (noneLeft !== undefined) return noneLeft
  const seconds = await limit.consume(key)
  // Read after the count: a count may begin the window of its key, and is not given back to a window that began later.
  const takenMs = performance.now()
  const giveBack = () => limit.giveBack(key, takenMs)
  if (seconds === undefined) return { giveBack }
  await giveBack()
  return seconds
}
