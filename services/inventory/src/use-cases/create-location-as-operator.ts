import type { InventoryDeps } from '../deps.ts'
import type { Answered } from '../idempotency/answer.ts'
import type { OperatorChange } from '../operators/operator-change.ts'
import { runOperatorChange } from '../operators/operator-change-repository.ts'
import { type CreateLocationInput, createLocation } from './create-location.ts'

/** A location that an operator adds. */
export interface CreateLocationAsOperatorInput extends CreateLocationInput {
  readonly change: OperatorChange
}

/**
 * Adds a location as `createLocation` does, in one transaction with its entry in the audit log. Resolves to its id.
 * @throws duplicateCode, keyMismatch, keyRunning, each as `createLocation` says
 */
export function createLocationAsOperator(
  { db, names }: Pick<InventoryDeps, 'db' | 'names'>,
  { change, caller, location }: CreateLocationAsOperatorInput,
): Promise<Answered<{ readonly id: number }>> {
  return runOperatorChange(db, change, async (own) => {
    const made = await createLocation({ ...own, names }, { caller, location })
    if (made.verdict === 'replayed') return { made, audited: undefined }
    const object = { kind: 'location', id: made.body.id } as const
    return { made, audited: { action: 'locations.change', object, productIds: [], changes: location } }
  })
}
