import { createHmac, hash } from 'node:crypto'
import { addressKey } from '@trestle/common/server/address-key.ts'
import type { Limiter, LimiterStore, Window } from '@trestle/rate-limits/limiter-store.ts'
import { z } from 'zod'
import type { Rate } from '../config/rules.ts'
import type { RateLimitConfig } from '../config/security.ts'
import { overEmailRateLimit, overRequestRateLimit, overSmsRateLimit } from '../errors.ts'
import type { ServerKeys } from '../secrets/encrypted-secret.ts'

/**
 * The request buckets, each with its own count (reference: Request limits): the setting that bounds it, the
 * period of the setting in seconds, and how many requests may come at once.
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

/** A limit that some endpoints share. Clients are counted in each bucket apart (reference: Request limits). */
export type Bucket = keyof typeof BUCKETS
/** A sign-up without an identifier is counted as anonymous, once its body has been read. */
type ReturnableBucket = 'signup'

/** A message that was counted. */
export interface Allowance {
  /** Gives the message back: the request was refused or has failed. */
  giveBack(): Promise<void>
  /**
   * Gives the message back to the limit of all clients: the request was answered, and nobody is there to get a message. It still
   * counts for the share of its client, so that no later answer to this client reveals who has an account.
   */
  giveBackUnsent(): Promise<void>
}

const nothing = async () => {}

/** The allowance of a request that sends no message. */
export const NOTHING_TAKEN: Allowance = { giveBack: nothing, giveBackUnsent: nothing }

/** A limit for messages of one kind, for all users together. A client may use half of it at most. */
interface MessageLimit {
  /** Counts a message. @param limitKey the key of the client's limits; undefined: of no client */
  take(limitKey: string | undefined): Promise<Allowance>
  /**
   * Gives a message back to the limit of all clients. Another part of the service has counted it, and it is not sent.
   * @param agoMs how long ago the message was counted: a window that began later keeps its messages
   */
  giveBack(agoMs: number): Promise<void>
}

/** All limits of a process, over one store. Several processes share their limits where it is PostgreSQL or Redis. */
export interface RateLimits {
  /** Counts a request of a client. Without a key there is no limit. */
  consume(bucket: Bucket, limitKey: string | undefined): Promise<void>
  /** Gives a request of a bucket back that is counted in another bucket. */
  giveBack(bucket: ReturnableBucket, limitKey: string | undefined): Promise<void>
  readonly email: MessageLimit
  readonly sms: MessageLimit
  readonly failedChecks: FailedCheckLimit
  /** The failed checks of a user from all addresses, for codes so short that many addresses together could attempt them. */
  readonly failedFactorChecks: FailedCheckLimit
}

/** Failed checks of passwords and codes, by a keyed hash of identifier and address. */
interface FailedCheckLimit {
  isBlocked(key: string): Promise<boolean>
  record(key: string): Promise<void>
}

/** A limit of the settings, as operators see it (console reference: Settings of auth). */
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
 * How many addresses may use up their failed checks against one user. By default that is 100 failed checks, as in NIST SP 800-63B
 * (5.2.2).
 */
const FAILING_ADDRESSES_MAX = 5
const ALL = 'all'
/** The least share of a client, also of a small limit: a change of email sends two messages. */
const CLIENT_MESSAGES_MIN = 2
const KEY_LENGTH_MAX = 128

/** The limits that the settings ask for. A limit that is `off` counts nothing. */
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

/** Shortens a client's key for the store. A header may hold 16 KiB, the column of PostgreSQL 255 characters. */
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
    // Stores count refused messages too. This message was not sent, so it must not delay the next one.
    await limiter.reward(key, takenMs)
    return refuseMessage(name, waitMs)
  }
  return {
    take: (limitKey) => {
      const own = limitKey === undefined ? [] : [() => takeFrom(ofClients, shortenKey(limitKey))]
      return takeAllowances([...own, () => takeFrom(all, ALL)])
    },
    // Stored times are whole milliseconds, so the message may be a little younger.
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

/** The options of an error that may be tried again after a time. */
export function retryAfter(waitMs: number): { readonly headers: Record<string, string> } {
  return { headers: { 'retry-after': String(retryAfterSeconds(waitMs)) } }
}

/** Counts several messages, or none when one is refused. @returns the allowance of all of them */
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
 * The window of a bucket (reference: Request limits): `burst` points in the time in which the sustained rate
 * gives as many. Stores count in whole seconds. Where that time is less than a second, the points follow the
 * rate instead.
 * @param value points per `periodSeconds`; `off` is no window
 * @returns undefined for no window
 */
export function toWindow(value: number | 'off', periodSeconds: number, burst: number): Window | undefined {
  if (value === 'off') return undefined
  const durationSeconds = Math.max(1, Math.round((burst * periodSeconds) / value))
  return { points: Math.max(1, Math.round((value * durationSeconds) / periodSeconds)), durationSeconds }
}

/** Whole seconds to wait, at least one: the header Retry-After (RFC 9110, section 10.2.3). */
export function retryAfterSeconds(waitMs: number): number {
  return Math.max(1, Math.ceil(waitMs / 1_000))
}

/**
 * The key of a counter of failed checks. `identifier`: a normalised email or phone, or for second factors a user id. `client`:
 * the client's address, or the text under which it counts.
 */
export interface FailedCheckKey {
  readonly identifier: string
  readonly client: string
}

/** The dependencies of counted checks. The store holds keyed hashes, never an identifier or an address. */
export interface FailedCheckDeps {
  readonly rateLimits: Pick<RateLimits, 'failedChecks' | 'failedFactorChecks'>
  readonly serverKeys: Pick<ServerKeys, 'hmac'>
}

/** Whether so many checks have failed that a right secret is answered like a wrong one (reference: Failed checks). */
export function isBlocked(deps: FailedCheckDeps, check: FailedCheckKey): Promise<boolean> {
  return deps.rateLimits.failedChecks.isBlocked(toKey(deps, check))
}

/** Counts a failed check for the identifier and the client's address together, known or not. */
export function recordFailedCheck(deps: FailedCheckDeps, check: FailedCheckKey): Promise<void> {
  return deps.rateLimits.failedChecks.record(toKey(deps, check))
}

export interface FailedFactorChecks {
  readonly isBlocked: () => Promise<boolean>
  readonly record: () => Promise<void>
}

/**
 * Returns the counters that a wrong answer to a second factor adds to. A wrong code also counts for the user from all addresses
 * together: an attacker with the password could try six digits from a thousand addresses. The signature of an authenticator
 * cannot be guessed.
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

/** A keyed hash, so that the limiter's store does not list who signs in from where. An IPv6 address counts by its network. */
function toKey({ serverKeys }: FailedCheckDeps, { identifier, client }: FailedCheckKey): string {
  return createHmac('sha256', serverKeys.hmac)
    .update(`${identifier}\0${addressKey(client)}`)
    .digest('base64url')
}
