import { createHmac } from 'node:crypto'
import { addressKey } from '@trestle/common/server/address-key.ts'
import type { ServerKeys } from '../secrets/server-key.ts'
import type { RateLimits } from './rate-limits.ts'

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

/** The counters of wrong answers to a second factor. */
export interface FailedFactorChecks {
  /** Whether there were too many wrong answers. */
  readonly isBlocked: () => Promise<boolean>
  /** Counts a wrong answer. */
  readonly record: () => Promise<void>
}

/**
 * Returns the counters that a wrong answer to a second factor adds to. A wrong code also counts for the user from all addresses
 * together, because somebody who has the password could guess six digits from a thousand addresses. The signature of an
 * authenticator cannot be guessed.
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
