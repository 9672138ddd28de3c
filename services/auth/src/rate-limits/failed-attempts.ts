import { createHmac } from 'node:crypto'
import type { AuthDeps } from '../deps.ts'

/** Whose check failed: a normalised email or phone (or a user id, for second factors) from one client address. */
export interface AttemptKey {
  readonly identifier: string
  readonly address: string
}

type Deps = Pick<AuthDeps, 'rateLimits' | 'serverKeys'>

/** Whether so many checks have failed that even a right secret must be answered like a wrong one (contract 7.12). */
export function isBlocked(deps: Deps, attempt: AttemptKey): Promise<boolean> {
  return deps.rateLimits.failures.isBlocked(toKey(deps, attempt))
}

/** Counts a failed check. */
export function recordFailure(deps: Deps, attempt: AttemptKey): Promise<void> {
  return deps.rateLimits.failures.record(toKey(deps, attempt))
}

/** A keyed hash: the limiter's store must not list who signs in from where. */
function toKey({ serverKeys }: Deps, { identifier, address }: AttemptKey): string {
  return createHmac('sha256', serverKeys.hmac).update(`${identifier}\0${address}`).digest('base64url')
}
