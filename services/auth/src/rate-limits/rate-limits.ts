import { createHmac, hash } from 'node:crypto'
import { addressKey } from '@trestle/common/server/address-key.ts'
import type { Limiter, LimiterStore, Window } from '@trestle/rate-limits/limiter-store.ts'
import { z } from 'zod'
import type { Rate } from '../config/rules.ts'
import type { RateLimitConfig } from '../config/security.ts'
import { overEmailRateLimit, overRequestRateLimit, overSmsRateLimit } from '../errors.ts'
import type { ServerKeys } from '../secrets/encrypted-secret.ts'

/**
 * The request buckets, which count separately (reference: Request limits). Each has a setting for its limit, the period of the
 * setting in seconds, and the largest burst.
 */
const BUCKETS = {
  token: { setting: 'token', periodSeconds: 300, burst: 30 },
  verify: { setting: 'verify', periodSeconds: 300, burst: 30 },
  signup: { setting: 'otp', periodSeconds: 300, burst: 30 },
  recover: { setting: 'otp', periodSeconds: 300, burst: 30 },
  resend: { setting: 'otp', periodSeconds: 300, burst: 30 },
  magiclink: { setting: 'otp', periodSeconds: 300, burst: 30 },
  otp: { setting: 'otp', periodSeconds: 300, burst: 30 },
  user: { setting: 'otp', periodSeconds: 300, burst: 30 },
  anonymous: { setting: 'anonymousUsers', periodSeconds: 3_600, burst: 'value' },
  'factor-challenge': { setting: 'factors', periodSeconds: 60, burst: 30 },
  'factor-verify': { setting: 'factors', periodSeconds: 60, burst: 30 },
  callback: { setting: 'sso', periodSeconds: 300, burst: 30 },
  sso: { setting: 'sso', periodSeconds: 300, burst: 30 },
  passkey: { setting: 'passkey', periodSeconds: 300, burst: 30 },
} as const

/** A limit that several endpoints share. Each client has its own count in each bucket (reference: Request limits). */
export type Bucket = keyof typeof BUCKETS
/** After its body is read, a sign-up without an identifier counts as anonymous instead. */
type ReturnableBucket = 'signup'

/** The right to send a counted message. */
export interface Allowance {
  /** Returns the allowance after a rejected or failed request. */
  giveBack(): Promise<void>
  /**
   * Returns the allowance to the limit of all clients after a request without a recipient. The message still counts for its
   * client. Otherwise a later response to this client would reveal who has an account.
   */
  giveBackUnsent(): Promise<void>
}

const nothing = async () => {}

/** The allowance of a request that sends no message. */
export const NOTHING_TAKEN: Allowance = { giveBack: nothing, giveBackUnsent: nothing }

/** A limit for messages of one kind from all clients. One client may use at most half of it. */
interface MessageLimit {
  /** Counts a message. @param limitKey the client's key, or `undefined` for a message of no client */
  take(limitKey: string | undefined): Promise<Allowance>
  /**
   * Returns a message to the limit of all clients. Another part of the service has counted it, but it is not sent.
   * @param agoMs the age of the count in milliseconds. Windows that began later stay unchanged
   */
  giveBack(agoMs: number): Promise<void>
}

/** All limits of a process, over one store. Processes share their limits if the store is PostgreSQL or Redis. */
export interface RateLimits {
  /** Counts a request of a client. Without a key, nothing is limited. */
  consume(bucket: Bucket, limitKey: string | undefined): Promise<void>
  /** Returns a request to its bucket, because another bucket counts it. */
  giveBack(bucket: ReturnableBucket, limitKey: string | undefined): Promise<void>
  readonly email: MessageLimit
  readonly sms: MessageLimit
  readonly failedChecks: FailedCheckLimit
  /** Failed checks of a user from all addresses. Many addresses together could guess a short code. */
  readonly failedFactorChecks: FailedCheckLimit
}

/** Failed checks of passwords and codes. The key is a keyed hash of identifier and address. */
interface FailedCheckLimit {
  isBlocked(key: string): Promise<boolean>
  record(key: string): Promise<void>
}

/** A limit in the form for operators (console reference: Settings of auth). */
export const LimitView = z
  .object({
    name: z.string(),
    value: z.number().nullable().meta({ description: 'How many in the time; null: any number' }),
    per_seconds: z.number(),
  })
  .meta({ id: 'Limit' })

export function viewLimits(config: RateLimitConfig): readonly z.output<typeof LimitView>[] {
  const periods = new Map(Object.values(BUCKETS).map(({ setting, periodSeconds }) => [setting, periodSeconds]))
  const view = (name: string, value: number | 'off', seconds: number) => ({
    name: name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    value: value === 'off' ? null : value,
    per_seconds: seconds,
  })
  const messages = (['email', 'sms'] as const).map((name) => {
    const rate = config[name]
    return rate === 'off' ? view(name, rate, HOUR_SECONDS) : view(name, rate.points, rate.windowMs / 1_000)
  })
  return [
    ...[...periods].map(([setting, seconds]) => view(setting, config[setting], seconds)),
    view('failedChecks', config.failedChecks, FAILED_CHECKS_SECONDS),
    ...messages,
  ]
}

const HOUR_SECONDS = 3_600
const FAILED_CHECKS_SECONDS = 900
/**
 * The limit for all addresses together, in multiples of the limit for one address. By default, this allows 100 failed checks, as
 * in NIST SP 800-63B (5.2.2).
 */
const FAILING_ADDRESSES_MAX = 5
const ALL = 'all'
/** The least share of a client, even of a small limit. A change of email sends two messages. */
const CLIENT_MESSAGES_MIN = 2
const KEY_LENGTH_MAX = 128

/** Creates the limits of the settings. A limit that is `off` counts nothing. */
export function createRateLimits(config: RateLimitConfig, store: LimiterStore): RateLimits {
  const limiters = new Map<string, Limiter>()
  for (const [bucket, { setting, periodSeconds, burst }] of Object.entries(BUCKETS)) {
    const value = config[setting]
    const window = toWindow(value, periodSeconds, burst === 'value' ? Math.max(1, Math.floor(Number(value))) : burst)
    if (window) limiters.set(bucket, store(`request:${bucket}`, { ...window, returnable: bucket === 'signup' }))
  }
  return {
    consume: async (bucket, limitKey) => {
      const waitMs = limitKey === undefined ? undefined : await limiters.get(bucket)?.consume(shortenKey(limitKey))
      if (waitMs !== undefined) throw overRequestRateLimit(retryAfter(waitMs))
    },
    giveBack: async (bucket, limitKey) => {
      if (limitKey !== undefined) await limiters.get(bucket)?.reward(shortenKey(limitKey))
    },
    email: createMessageLimit(config.email, 'email', store),
    sms: createMessageLimit(config.sms, 'sms', store),
    failedChecks: createFailedCheckLimit('failure', config.failedChecks, store),
    failedFactorChecks: createFailedCheckLimit('factor-failure', multiplyByAddresses(config.failedChecks), store),
  }
}

/** Shortens a key for the store. Headers may have 16 KiB, but the PostgreSQL column has 255 characters. */
function shortenKey(key: string): string {
  return key.length <= KEY_LENGTH_MAX ? key : hash('sha256', key, 'base64url')
}

function createMessageLimit(rate: Rate | 'off', name: 'email' | 'sms', store: LimiterStore): MessageLimit {
  if (rate === 'off') return { take: async () => NOTHING_TAKEN, giveBack: nothing }
  const window = toWindow(rate.points, rate.windowMs / 1_000, rate.points)
  if (rate.points === 0 || !window) {
    return { take: async () => refuseMessage(name, HOUR_SECONDS * 1_000), giveBack: nothing }
  }
  const share = Math.max(CLIENT_MESSAGES_MIN, Math.floor(window.points / 2))
  const all = store(`message:${name}`, { ...window, returnable: true })
  const ofClients = store(`message-client:${name}`, { ...window, points: share, returnable: true })
  const takeFrom = async (limiter: Limiter, key: string) => {
    const waitMs = await limiter.consume(key)
    const takenMs = performance.now()
    const giveBack = once(() => limiter.reward(key, takenMs))
    if (waitMs === undefined) return { giveBack, giveBackUnsent: limiter === all ? giveBack : nothing }
    // Stores count rejected messages too. Return this one, so that it does not delay the next message.
    await limiter.reward(key, takenMs)
    return refuseMessage(name, waitMs)
  }
  return {
    take: (limitKey) => {
      const own = limitKey === undefined ? [] : [() => takeFrom(ofClients, shortenKey(limitKey))]
      return takeAllowances([...own, () => takeFrom(all, ALL)])
    },
    // Stored times are in whole milliseconds, so the message may be up to 1 ms younger.
    giveBack: (agoMs) => all.reward(ALL, performance.now() - agoMs + 1),
  }
}

function refuseMessage(name: 'email' | 'sms', waitMs: number): never {
  if (name === 'email') throw overEmailRateLimit(retryAfter(waitMs))
  throw overSmsRateLimit(retryAfter(waitMs))
}

function once(run: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined
  return () => {
    done ??= run()
    return done
  }
}

function multiplyByAddresses(failedChecksMax: number | 'off'): number | 'off' {
  return failedChecksMax === 'off' ? 'off' : failedChecksMax * FAILING_ADDRESSES_MAX
}

function createFailedCheckLimit(name: string, failedChecksMax: number | 'off', store: LimiterStore): FailedCheckLimit {
  if (failedChecksMax === 'off') return { isBlocked: async () => false, record: async () => {} }
  const points = Math.max(1, Math.floor(failedChecksMax))
  const limiter = store(name, { points, durationSeconds: FAILED_CHECKS_SECONDS })
  return {
    isBlocked: async (key) => (await limiter.waitMs(key)) !== undefined,
    record: async (key) => {
      await limiter.consume(key)
    },
  }
}

/** The options of an error that tells the client when to retry. */
export function retryAfter(waitMs: number): { readonly headers: Record<string, string> } {
  return { headers: { 'retry-after': String(retryAfterSeconds(waitMs)) } }
}

/** Counts all messages, or none if one is rejected. @returns the allowance of all of them */
export async function takeAllowances(takes: readonly (() => Promise<Allowance>)[]): Promise<Allowance> {
  const taken: Allowance[] = []
  const giveBack = async () => {
    for (const allowance of taken) await allowance.giveBack()
  }
  const giveBackUnsent = async () => {
    for (const allowance of taken) await allowance.giveBackUnsent()
  }
  try {
    for (const take of takes) taken.push(await take())
  } catch (error) {
    await giveBack()
    throw error
  }
  return { giveBack, giveBackUnsent }
}

/**
 * Returns the window of a bucket (reference: Request limits). It allows `burst` points in the time in which the sustained rate
 * allows as many. Stores use whole seconds. If that time is below a second, the points follow from the rate.
 * @param value points per `periodSeconds`, or `off` for no limit
 * @returns `undefined` if there is no limit
 */
export function toWindow(value: number | 'off', periodSeconds: number, burst: number): Window | undefined {
  if (value === 'off') return undefined
  const durationSeconds = Math.max(1, Math.round((burst * periodSeconds) / value))
  return { points: Math.max(1, Math.round((value * durationSeconds) / periodSeconds)), durationSeconds }
}

/** The whole seconds to wait, at least 1, for the header Retry-After (RFC 9110, section 10.2.3). */
export function retryAfterSeconds(waitMs: number): number {
  return Math.max(1, Math.ceil(waitMs / 1_000))
}

/**
 * The key of a counter of failed checks. `identifier` is a normalised email or phone, or a user id for second factors. `client`
 * is the client address or the text that replaces it.
 */
export interface FailedCheckKey {
  readonly identifier: string
  readonly client: string
}

/** The dependencies of counted checks. The store contains keyed hashes, never identifiers or addresses. */
export interface FailedCheckDeps {
  readonly rateLimits: Pick<RateLimits, 'failedChecks' | 'failedFactorChecks'>
  readonly serverKeys: Pick<ServerKeys, 'hmac'>
}

/** Whether so many checks have failed that a correct secret is rejected too (reference: Failed checks). */
export function isBlocked(deps: FailedCheckDeps, check: FailedCheckKey): Promise<boolean> {
  return deps.rateLimits.failedChecks.isBlocked(toKey(deps, check))
}

/** Counts a failed check for the pair of identifier and client address, even if the identifier is unknown. */
export function recordFailedCheck(deps: FailedCheckDeps, check: FailedCheckKey): Promise<void> {
  return deps.rateLimits.failedChecks.record(toKey(deps, check))
}

export interface FailedFactorChecks {
  readonly isBlocked: () => Promise<boolean>
  readonly record: () => Promise<void>
}

/**
 * Returns the counters for wrong answers to a second factor. A wrong code also counts for the user from all addresses: an
 * attacker with the password could guess six digits from a thousand addresses. The signature of an authenticator cannot be
 * guessed.
 */
export function createFailedFactorChecks(
  deps: FailedCheckDeps,
  check: FailedCheckKey,
  factorType: string,
): FailedFactorChecks {
  const { failedChecks, failedFactorChecks } = deps.rateLimits
  const ofPair = { limit: failedChecks, key: toKey(deps, check) }
  const ofUser = { limit: failedFactorChecks, key: toKey(deps, { ...check, client: '' }) }
  const counts = factorType === 'webauthn' ? [ofPair] : [ofPair, ofUser]
  return {
    isBlocked: async () => (await Promise.all(counts.map(({ limit, key }) => limit.isBlocked(key)))).includes(true),
    record: async () => {
      await Promise.all(counts.map(({ limit, key }) => limit.record(key)))
    },
  }
}

/** A keyed hash hides from the store who signs in from where. An IPv6 address counts by its network. */
function toKey({ serverKeys }: FailedCheckDeps, { identifier, client }: FailedCheckKey): string {
  return createHmac('sha256', serverKeys.hmac)
    .update(`${identifier}\0${addressKey(client)}`)
    .digest('base64url')
}
