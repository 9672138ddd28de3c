import { hash } from 'node:crypto'
import type { Limiter, LimiterStore, Window } from '@trestle/service/limiter-store.ts'
import type { Rate } from '../config/rules.ts'
import type { RateLimitConfig } from '../config/security.ts'
import { overEmailRateLimit, overRequestRateLimit, overSmsRateLimit } from '../errors.ts'
import { retryAfterSeconds, toWindow } from './windows.ts'

/** The request buckets of contract 7.12; the endpoints of the bucket Otp have one each. */
export const BUCKETS = [
  'token',
  'verify',
  'signup',
  'recover',
  'resend',
  'magiclink',
  'otp',
  'user',
  'anonymous',
] as const

export type Bucket = (typeof BUCKETS)[number]

/** A message that was counted; `giveBack` when it is not sent after all. */
export interface Allowance {
  giveBack(): Promise<void>
}

/** Messages of one kind that may go out, all users together. */
export interface MessageLimit {
  /** Counts a message. @throws the 429 of its kind */
  take(): Promise<Allowance>
  /** Refuses as `take` would, but counts nothing: for sends that are dropped unseen. */
  check(): Promise<void>
}

export interface RateLimits {
  /** Counts a request of a client; no key is no limit. @throws overRequestRateLimit */
  consume(bucket: Bucket, key: string | undefined): Promise<void>
  readonly email: MessageLimit
  readonly sms: MessageLimit
  readonly failures: FailureLimit
}

/** Failed checks of passwords and codes, by a keyed hash of identifier and address. */
export interface FailureLimit {
  isBlocked(key: string): Promise<boolean>
  record(key: string): Promise<void>
}

const BURST = 30
const PERIOD_SECONDS = 300
const HOUR_SECONDS = 3_600
const FAILURES_SECONDS = 900
const ALL = 'all'
const KEY_LENGTH_MAX = 128

/** @param failuresMax failed checks per quarter of an hour */
export function createRateLimits(
  config: RateLimitConfig,
  failuresMax: number | 'off',
  store: LimiterStore,
): RateLimits {
  const windows: Record<Bucket, Window | undefined> = {
    token: toWindow(config.token, PERIOD_SECONDS, BURST),
    verify: toWindow(config.verify, PERIOD_SECONDS, BURST),
    signup: toWindow(config.otp, PERIOD_SECONDS, BURST),
    recover: toWindow(config.otp, PERIOD_SECONDS, BURST),
    resend: toWindow(config.otp, PERIOD_SECONDS, BURST),
    magiclink: toWindow(config.otp, PERIOD_SECONDS, BURST),
    otp: toWindow(config.otp, PERIOD_SECONDS, BURST),
    user: toWindow(config.otp, PERIOD_SECONDS, BURST),
    anonymous: anonymousWindow(config.anonymousUsers),
  }
  const limiters = new Map<Bucket, Limiter | undefined>(
    BUCKETS.map((bucket) => [bucket, windows[bucket] && store(`request:${bucket}`, windows[bucket])]),
  )
  return {
    consume: async (bucket, key) => {
      const waitMs = key === undefined ? undefined : await limiters.get(bucket)?.consume(shorten(key))
      if (waitMs !== undefined) throw overRequestRateLimit(retryAfter(waitMs))
    },
    email: createMessageLimit(config.email, 'email', store, overEmailRateLimit),
    sms: createMessageLimit(config.sms, 'sms', store, overSmsRateLimit),
    failures: createFailureLimit(failuresMax, store),
  }
}

/** A client's key as a store takes it: the header that it comes from may hold 16 KiB, the column of PostgreSQL 255. */
function shorten(key: string): string {
  return key.length <= KEY_LENGTH_MAX ? key : hash('sha256', key, 'base64url')
}

function anonymousWindow(value: number | 'off'): Window | undefined {
  return toWindow(value, HOUR_SECONDS, value === 'off' ? 0 : Math.max(1, Math.floor(value)))
}

function createMessageLimit(
  rate: Rate | 'off',
  name: string,
  store: LimiterStore,
  refuse: typeof overEmailRateLimit,
): MessageLimit {
  if (rate === 'off') return { take: async () => ({ giveBack: async () => {} }), check: async () => {} }
  if (rate.points === 0) {
    const never = async () => {
      throw refuse(retryAfter(HOUR_SECONDS * 1_000))
    }
    return { take: never, check: never }
  }
  const durationSeconds = Math.max(1, Math.round(rate.windowMs / 1_000))
  const limiter = store(`message:${name}`, { points: rate.points, durationSeconds, returnable: true })
  return {
    take: async () => {
      const waitMs = await limiter.consume(ALL)
      if (waitMs !== undefined) throw refuse(retryAfter(waitMs))
      return { giveBack: () => limiter.reward(ALL) }
    },
    check: async () => {
      const waitMs = await limiter.waitMs(ALL)
      if (waitMs !== undefined) throw refuse(retryAfter(waitMs))
    },
  }
}

function createFailureLimit(failuresMax: number | 'off', store: LimiterStore): FailureLimit {
  if (failuresMax === 'off') return { isBlocked: async () => false, record: async () => {} }
  const points = Math.max(1, Math.floor(failuresMax))
  const limiter = store('failure', { points, durationSeconds: FAILURES_SECONDS })
  return {
    isBlocked: async (key) => (await limiter.waitMs(key)) !== undefined,
    record: async (key) => {
      await limiter.consume(key)
    },
  }
}

function retryAfter(waitMs: number): { readonly headers: Record<string, string> } {
  return { headers: { 'retry-after': String(retryAfterSeconds(waitMs)) } }
}
