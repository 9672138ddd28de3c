import type { InventoryDeps } from '../deps.ts'
import { locationHasStock } from '../errors.ts'
import { type LocationTarget, requireSameLocation } from '../locations/location.ts'
import { callDeleteLocation } from '../locations/location-repository.ts'

/**
 * Deletes a location. Its row stays, because the ledger refers to it.
 * @throws locationNotFound when there is none with the id, locationChanged when it has another version than the deletion is based
 * on, locationHasStock while stock is on hand there
 */
export async function deleteLocation(
  deps: Pick<InventoryDeps, 'lanes' | 'names'>,
  target: LocationTarget,
): Promise<void> {
  const answer = await callDeleteLocation(deps, target)
  const verdict = requireSameLocation(answer)
  if (verdict === 'has-stock') throw locationHasStock()
}
