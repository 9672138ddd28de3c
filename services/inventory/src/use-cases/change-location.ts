import type { InventoryDeps } from '../deps.ts'
import {
  type LocationChange,
  type LocationTarget,
  requireFreeCode,
  requireSameLocation,
} from '../locations/location.ts'
import { callChangeLocation } from '../locations/location-repository.ts'
import type { VersionedLocation } from '../locations/location-view.ts'

/** A change of a location. */
export interface ChangeLocationInput {
  readonly target: LocationTarget
  readonly fields: LocationChange
}

/**
 * Changes a location. A change that alters nothing keeps the version.
 * @throws locationNotFound when there is none with the id, locationChanged when it has another version than
 * the change is based on, duplicateCode when another location has the code
 */
export async function changeLocation(
  deps: Pick<InventoryDeps, 'lanes' | 'names'>,
  { target, fields }: ChangeLocationInput,
): Promise<VersionedLocation> {
  const answer = await callChangeLocation(deps, target, fields)
  const changed = requireSameLocation(answer)
  return requireFreeCode(changed)
}
