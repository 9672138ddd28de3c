import type { LimiterStore } from '@trestle/rate-limits/limiter-store.ts'
import type { RateLimitConfig } from '../config/rate-limits.ts'
import { byAddress, createRateLimit, type RateLimit } from './rate-limit.ts'

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
