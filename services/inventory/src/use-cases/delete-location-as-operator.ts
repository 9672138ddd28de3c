import type { InventoryDeps } from '../deps.ts'
import type { LocationTarget } from '../locations/location.ts'
import type { OperatorChange } from '../operators/operator-change.ts'
import { runOperatorChange } from '../operators/operator-change-repository.ts'
import { deleteLocation } from './delete-location.ts'

/** A location that an operator deletes. */
export interface DeleteLocationAsOperatorInput {
  readonly change: OperatorChange
  readonly target: LocationTarget
}

/**
 * Deletes a location as `deleteLocation` does, in one transaction with its entry in the audit log.
 * @throws locationNotFound, locationChanged, locationHasStock, each as `deleteLocation` says
 */
export function deleteLocationAsOperator(
  { db, names }: Pick<InventoryDeps, 'db' | 'names'>,
  { change, target }: DeleteLocationAsOperatorInput,
): Promise<void> {
  return runOperatorChange(db, change, async (own) => {
    const made = await deleteLocation({ ...own, names }, target)
    const object = { kind: 'location', id: target.id } as const
    return { made, audited: { action: 'locations.change', object, productIds: [], changes: { deleted: true } } }
  })
}
