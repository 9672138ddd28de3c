import { createHmac } from 'node:crypto'
import { addressKey } from '@trestle/common/server/address-key.ts'
import type { AuthDeps } from '../deps.ts'
import type { FactorType } from '../factors/factor.ts'

/** Whose check failed: a normalised email or phone (or a user id, for second factors) from one client address. */
export interface AttemptKey {
  readonly identifier: string
  readonly address: string
}

type Deps = Pick<AuthDeps, 'rateLimits' | 'serverKeys'>

/**
 * Whether so many checks have failed that even a right secret is answered like a wrong one (reference: Failed checks).
 */
export function isBlocked(deps: Deps, attempt: AttemptKey): Promise<boolean> {
  return deps.rateLimits.failures.isBlocked(toKey(deps, attempt))
}

/** Counts a failed check. */
export function recordFailure(deps: Deps, attempt: AttemptKey): Promise<void> {
  return deps.rateLimits.failures.record(toKey(deps, attempt))
}

/** The failures that count against the answer to a second factor. */
export interface FactorFailures {
  isBlocked(): Promise<boolean>
  record(): Promise<void>
}

/**
 * The failures of a user's second factors. Those of codes count for the user too, wherever they come from: who has the
 * password could guess six digits from a thousand addresses. What an authenticator signs, nobody guesses.
 */
export function factorFailuresOf(deps: Deps, attempt: AttemptKey, factorType: FactorType): FactorFailures {
  const { failures, factorFailures } = deps.rateLimits
  const ofPair = { limit: failures, key: toKey(deps, attempt) }
  const ofUser = { limit: factorFailures, key: toKey(deps, { ...attempt, address: '' }) }
  const counts = factorType === 'webauthn' ? [ofPair] : [ofPair, ofUser]
  return {
    isBlocked: async () => (await Promise.all(counts.map(({ limit, key }) => limit.isBlocked(key)))).includes(true),
    record: async () => {
      await Promise.all(counts.map(({ limit, key }) => limit.record(key)))
    },
  }
}

/** A keyed hash: the limiter's store must not list who signs in from where. Of IPv6 the network counts, as for requests. */
function toKey({ serverKeys }: Deps, { identifier, address }: AttemptKey): string {
  return createHmac('sha256', serverKeys.hmac)
    .update(`${identifier}\0${addressKey(address)}`)
    .digest('base64url')
}
