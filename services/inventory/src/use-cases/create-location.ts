import type { InventoryDeps } from '../deps.ts'
import type { Answered } from '../idempotency/answer.ts'
import type { Caller } from '../idempotency/caller.ts'
import { refuseKey } from '../idempotency/refuse-key.ts'
import { type NewLocation, requireFreeCode } from '../locations/location.ts'
import { insertLocation } from '../locations/location-repository.ts'

/** A location to add. */
export interface CreateLocationInput {
  readonly caller: Caller
  readonly location: NewLocation
}

/**
 * Adds a location. Resolves to its id.
 * @throws duplicateCode when another location has the code, keyMismatch when the Idempotency-Key was used for another request,
 * keyRunning while its first request runs
 */
export async function createLocation(
  deps: Pick<InventoryDeps, 'db' | 'names'>,
  { caller, location }: CreateLocationInput,
): Promise<Answered<{ readonly id: number }>> {
  const answer = requireFreeCode(await insertLocation(deps, caller, location))
  if (answer.body === null) refuseKey(answer.verdict)
  return answer
}
