import type { InventoryDeps } from '../deps.ts'
import type { VersionedLocation } from '../locations/location-view.ts'
import type { OperatorChange } from '../operators/operator-change.ts'
import { runOperatorChange } from '../operators/operator-change-repository.ts'
import { type ChangeLocationInput, changeLocation } from './change-location.ts'

/** A change of a location by an operator. */
export interface ChangeLocationAsOperatorInput extends ChangeLocationInput {
  readonly change: OperatorChange
}

/**
 * Changes a location as `changeLocation` does, in one transaction with its entry in the audit log.
 * @throws locationNotFound, locationChanged, duplicateCode, each as `changeLocation` says
 */
export function changeLocationAsOperator(
  { db, names }: Pick<InventoryDeps, 'db' | 'names'>,
  { change, target, fields }: ChangeLocationAsOperatorInput,
): Promise<VersionedLocation> {
  return runOperatorChange(db, change, async (own) => {
    const made = await changeLocation({ ...own, names }, { target, fields })
    const object = { kind: 'location', id: target.id } as const
    const changes = { ...fields, version: made.version }
    return { made, audited: { action: 'locations.change', object, productIds: [], changes } }
  })
}
