import type { Meter } from '@opentelemetry/api'
import { addressKey } from '@trestle/common/server/address-key.ts'
import { startAtZero } from '@trestle/common/telemetry/start-at-zero.ts'
import type { LimiterStore } from '@trestle/rate-limits/limiter-store.ts'
import type { RateLimitConfig } from '../config/rate-limits.ts'
import { rateLimited } from '../errors.ts'

/** The rate limits of the service. An IPv6 address counts by its network (reference: Rate limits). */
export interface RateLimits {
  /** Requests, counted by the MAC of the API key. */
  readonly requests: RateLimit
  /** New apps, counted by address. */
  readonly apps: RateLimit
  /** Requests with an invalid key, counted by address. */
  readonly failures: RateLimit
  /** Requests to the checkout, counted by address. */
  readonly checkouts: RateLimit
  /** Refused cards at live merchants, counted by address. */
  readonly refusals: RateLimit
  /** Invitation mails, counted by a digest of the email address. */
  readonly mails: RateLimit
  /** Invitations, counted by the key or user that sends them. */
  readonly invitations: RateLimit
  /** Invitations, counted by the address that sends them. */
  readonly invitationAddresses: RateLimit
}

/** Windows longer than a second allow a client to send requests unevenly. */
const REQUEST_WINDOW_SECONDS = 2
const CHECKOUT_WINDOW_SECONDS = 3
const REFUSAL_WINDOW_SECONDS = 600

/** Creates all rate limits of the service on one store. */
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
  /** Counts one event. Resolves to `undefined` within the limit, otherwise to the whole seconds to wait, at least 1. */
  consume(key: string): Promise<number | undefined>
  /** Resolves, without counting, to `undefined` if an event is left, otherwise to the seconds to wait, at least 1. */
  wait(key: string): Promise<number | undefined>
  /** Gives back one event that was counted at `takenMs` of `performance.now()`. Works only for returnable limits. */
  giveBack(key: string, takenMs: number): Promise<void>
}

interface RateLimitWindow {
  /** A part of every key in the store. */
  readonly name: string
  /** 0 turns the limit off. */
  readonly events: number
  readonly seconds: number
  readonly returnable?: boolean
}

const UNLIMITED: RateLimit = { consume: async () => undefined, wait: async () => undefined, giveBack: async () => {} }

/** Creates a limit of `events` per key in each window. With 0 events there is no limit. */
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
 * Returns the limit with client addresses as keys. An IPv6 address counts as its network, because one client usually has a whole
 * network.
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
  const counter = meter.createCounter('payments_rate_limited_total', {
    description: 'Requests refused by a rate limit',
  })
  const refused = startAtZero(counter, [{ scope }])
  return (seconds) => {
    refused.add(1, { scope })
    throw rateLimited({ headers: { 'retry-after': String(seconds) } })
  }
}

/** An event that was counted before it happened. */
export interface TakenEvent {
  giveBack(): Promise<void>
}

/**
 * Counts an event before it happens, so that concurrent events stay within the limit. A refused event is not counted.
 * @returns the counted event, or the whole seconds to wait, at least 1
 */
export async function takeEvent(limit: RateLimit, key: string): Promise<TakenEvent | number> {
  const noneLeft = await limit.wait(key)
  if (noneLeft !== undefined) return noneLeft
  const seconds = await limit.consume(key)
  // Read after the count, which may begin a new window. A later window must not get the event back.
  const takenMs = performance.now()
  const giveBack = () => limit.giveBack(key, takenMs)
  if (seconds === undefined) return { giveBack }
  await giveBack()
  return seconds
}
