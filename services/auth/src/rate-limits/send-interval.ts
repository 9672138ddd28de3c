import type { AuthConfig } from '../config.ts'
import { emailTooSoon, smsTooSoon } from '../errors.ts'
import type { ServerKeys } from '../secrets/server-key.ts'
import type { Trx } from '../transaction.ts'
import { type ThrottleKind, touchThrottle } from './send-throttle.ts'
import { retryAfterSeconds } from './windows.ts'

/** What the interval between messages works with. The table holds keyed hashes of identifiers. */
export interface IntervalDeps {
  readonly config: Pick<AuthConfig, 'jwt' | 'mail' | 'mfa' | 'sms'>
  readonly now: () => Date
  readonly serverKeys: Pick<ServerKeys, 'hmac'>
}

/** A kind of message to a normalised email or phone. */
export interface IntervalOf {
  readonly kind: ThrottleKind
  readonly identifier: string
  /**
   * The audience of the request. A request for a user of another audience sends no message, and must not use the interval up.
   * Undefined is the default audience.
   */
  readonly audience: string | undefined
}

/**
 * The least time between two messages of a kind to one identifier, in milliseconds (reference: Intervals between messages).
 */
export function intervalMs({ mail, mfa, sms }: Pick<AuthConfig, 'mail' | 'mfa' | 'sms'>, kind: ThrottleKind): number {
  if (kind === 'sms') return sms.intervalMs
  if (kind === 'mfa_sms') return mfa.phone.intervalMs
  return kind === 'confirmation' ? mail.intervalMs.confirmation : mail.intervalMs.other
}

/** Records that a message goes out. @returns undefined, or the milliseconds to wait where none may go out yet */
export function touchInterval(
  trx: Trx,
  { config, now, serverKeys }: IntervalDeps,
  { kind, identifier, audience }: IntervalOf,
): Promise<number | undefined> {
  const key = { kind, identifier, audience: throttledAudience(config, audience) }
  return touchThrottle(trx, serverKeys.hmac, { ...key, intervalMs: intervalMs(config, kind), now: now() })
}

/** The audience in the key of an interval: undefined for the default audience. */
export function throttledAudience({ jwt }: Pick<AuthConfig, 'jwt'>, audience: string | undefined): string | undefined {
  return audience === jwt.audience ? undefined : audience
}

/**
 * Records that a message goes out, in the transaction of its cause. @throws emailTooSoon or smsTooSoon when the
 * interval since the last message is not over (reference: Intervals between messages)
 */
export async function requireInterval(trx: Trx, deps: IntervalDeps, interval: IntervalOf): Promise<void> {
  const waitMs = await touchInterval(trx, deps, interval)
  if (waitMs === undefined) return
  const seconds = retryAfterSeconds(waitMs)
  const isSms = interval.kind === 'sms' || interval.kind === 'mfa_sms'
  const headers = { 'retry-after': String(seconds) }
  throw isSms ? smsTooSoon({ seconds }, { headers }) : emailTooSoon({ seconds }, { headers })
}
