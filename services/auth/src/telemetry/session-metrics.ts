import type { Counter, Meter } from '@opentelemetry/api'
import { startAtZero } from '@trestle/common/telemetry/start-at-zero.ts'
import type { PasswordHasherOptions } from '../passwords/password-hasher.ts'

/** Counts refresh tokens that came again, by outcome: `allowed` within the interval, `revoked` as stolen. */
export function createTokenReuseCounter(meter: Meter): Counter {
  const counter = meter.createCounter('auth_refresh_token_reuse_total', {
    description: 'Refresh tokens that were used again',
  })
  return startAtZero(counter, [{ outcome: 'allowed' }, { outcome: 'revoked' }])
}

/** Counts password hashes that are made and verified: when they are submitted, and when they are completed. */
export function countHashing(meter: Meter): NonNullable<PasswordHasherOptions['onWork']> {
  const counters = {
    hash: {
      submitted: meter.createCounter('auth_password_hash_submitted_total', { description: 'Hashes asked for' }),
      completed: meter.createCounter('auth_password_hash_completed_total', { description: 'Hashes made' }),
    },
    verify: {
      submitted: meter.createCounter('auth_password_compare_submitted_total', { description: 'Comparisons asked for' }),
      completed: meter.createCounter('auth_password_compare_completed_total', { description: 'Comparisons made' }),
    },
  }
  return ({ kind, alg }, stage) => counters[kind][stage].add(1, { alg })
}
