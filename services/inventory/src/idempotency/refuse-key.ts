import { keyMismatch, keyRunning } from '../errors.ts'

/** Why a request with an Idempotency-Key is refused. */
export type KeyRefusal = 'key-mismatch' | 'key-running'

/**
 * Refuses a request because of its Idempotency-Key.
 * @throws keyMismatch when the key was used for another request, keyRunning while the first request runs
 */
export function refuseKey(refusal: KeyRefusal): never {
  switch (refusal) {
    case 'key-mismatch':
      throw keyMismatch()
    case 'key-running':
      throw keyRunning()
  }
}
