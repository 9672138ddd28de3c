import type { Counter, Meter } from '@opentelemetry/api'
import type { PasswordHasherOptions } from '../passwords/password-hash.ts'

/** Counts refresh tokens that came again, by outcome: `allowed` within the interval, `revoked` as stolen. */
export function createTokenReuseCounter(meter: Meter): Counter {
  return meter.createCounter('auth_refresh_token_reuse_total', { description: 'Refresh tokens that were used again' })
}

/** Counts password hashes that are made and compared, when they are asked for and when they are done. */
export function countHashing(meter: Meter): NonNullable<PasswordHasherOptions['onWork']> {
  const count = (name: string) => meter.createCounter(`auth_password_${name}_total`)
  const counters = {
    hash: { submitted: count('hash_submitted'), completed: count('hash_completed') },
    compare: { submitted: count('compare_submitted'), completed: count('compare_completed') },
  }
  return ({ kind, alg }, stage) => counters[kind][stage].add(1, { alg })
}
