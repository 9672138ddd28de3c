import type { InventoryDeps } from '../deps.ts'
import {
  type LocationChange,
  type LocationTarget,
  requireFreeCode,
  requireSameLocation,
} from '../locations/location.ts'
import { callChangeLocation } from '../locations/location-repository.ts'
import type { VersionedLocation } from '../locations/location-view.ts'

/**
 * Changes a location. A change that alters nothing keeps the version.
 * @throws locationNotFound when there is none with the id, locationChanged when it has another version than
 * the change is based on, duplicateCode when another location has the code
 */
export async function changeLocation(
  deps: Pick<InventoryDeps, 'lanes' | 'names'>,
  target: LocationTarget,
  change: LocationChange,
): Promise<VersionedLocation> {
  const answer = await callChangeLocation(deps, target, change)
  const changed = requireSameLocation(answer)
  return requireFreeCode(changed)
}
