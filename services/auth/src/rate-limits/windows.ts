import type { Window } from '@trestle/rate-limits/limiter-store.ts'

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
