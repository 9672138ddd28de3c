import { createHmac } from 'node:crypto'
import { addressKey } from '@trestle/common/server/address-key.ts'
import type { ServerKeys } from '../secrets/server-key.ts'
import type { RateLimits } from './rate-limits.ts'

/**
 * The key of a counter of failed checks. `identifier`: a normalised email or phone, or for second factors a user id. `ip`: the
 * client's address.
 */
export interface AttemptKey {
  readonly identifier: string
  readonly ip: string
}

/** What counting failed checks works with. The store holds keyed hashes, never an identifier or an address. */
export interface FailureDeps {
  readonly rateLimits: Pick<RateLimits, 'failures' | 'factorFailures'>
  readonly serverKeys: Pick<ServerKeys, 'hmac'>
}

/** Whether so many checks have failed that a right secret is answered like a wrong one (reference: Failed checks). */
export function isBlocked(deps: FailureDeps, attempt: AttemptKey): Promise<boolean> {
  return deps.rateLimits.failures.isBlocked(toKey(deps, attempt))
}

/** Counts a failed check for the identifier and the client's address together, known or not. */
export function recordFailure(deps: FailureDeps, attempt: AttemptKey): Promise<void> {
  return deps.rateLimits.failures.record(toKey(deps, attempt))
}

/**
 * The counters that a wrong answer to a second factor adds to. A wrong code also counts for the user from all addresses
 * together, because somebody who has the password could guess six digits from a thousand addresses. The signature of an
 * authenticator cannot be guessed.
 */
export function createFactorFailures(deps: FailureDeps, attempt: AttemptKey, factorType: string) {
  const { failures, factorFailures } = deps.rateLimits
  const ofPair = { limit: failures, key: toKey(deps, attempt) }
  const ofUser = { limit: factorFailures, key: toKey(deps, { ...attempt, ip: '' }) }
  const counts = factorType === 'webauthn' ? [ofPair] : [ofPair, ofUser]
  return {
    isBlocked: async () => (await Promise.all(counts.map(({ limit, key }) => limit.isBlocked(key)))).includes(true),
    record: async () => {
      await Promise.all(counts.map(({ limit, key }) => limit.record(key)))
    },
  }
}

/** A keyed hash, so that the limiter's store does not list who signs in from where. An IPv6 address counts by its network. */
function toKey({ serverKeys }: FailureDeps, { identifier, ip }: AttemptKey): string {
  return createHmac('sha256', serverKeys.hmac)
    .update(`${identifier}\0${addressKey(ip)}`)
    .digest('base64url')
}
