import type { Window } from '@trestle/service/limiter-store.ts'

/**
 * The window of a bucket (contract 7.12): `burst` points in the time in which the sustained rate gives as many.
 * @param value points per `periodSeconds`; `off` is no window at all
 */
export function toWindow(value: number | 'off', periodSeconds: number, burst: number): Window | undefined {
  if (value === 'off') return undefined
  return { points: burst, durationSeconds: Math.max(1, Math.round((burst * periodSeconds) / value)) }
}

/** Whole seconds to wait, at least one: the header Retry-After. */
export function retryAfterSeconds(waitMs: number): number {
  return Math.max(1, Math.ceil(waitMs / 1_000))
}
