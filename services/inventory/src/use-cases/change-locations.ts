import type { Names } from '@trestle/migrations/migration.ts'
import { locationHasStock } from '../errors.ts'
import { type Answered, type Caller, refuseKey } from '../idempotency/idempotent-request.ts'
import {
  type LocationChange,
  type LocationTarget,
  type NewLocation,
  requireFreeCode,
  requireSameLocation,
  type VersionedLocation,
} from '../locations/location.ts'
import { callChangeLocation, callDeleteLocation, insertLocation } from '../locations/location-repository.ts'
import type { Audited } from '../operators/operator-change.ts'
import { type ChangeDeps, runAuditedChange } from '../operators/operator-change-repository.ts'

type LocationDeps = ChangeDeps & { readonly names: Names }

/**
 * Adds a location. Resolves to its id.
 * @throws duplicateCode if another location has the code, keyMismatch if the Idempotency-Key was used for another request,
 * keyRunning while its first request runs
 */
export function createLocation(
  deps: LocationDeps,
  { caller, location, operatorChange }: Audited & { readonly caller: Caller; readonly location: NewLocation },
): Promise<Answered<{ readonly id: number }>> {
  const create = async (own: LocationDeps) => {
    const answer = requireFreeCode(await insertLocation(own, caller, location))
    if (answer.body === null) refuseKey(answer.verdict)
    return answer
  }
  return runAuditedChange(deps, operatorChange, create, ({ verdict, body }) =>
    verdict === 'replayed' ? undefined : auditLocation(body.id, location),
  )
}

/**
 * Changes a location. A change without effect keeps the version.
 * @throws locationNotFound if it does not exist, locationChanged if it has another version than the change expects, duplicateCode
 * if another location has the code
 */
export function changeLocation(
  deps: LocationDeps,
  { target, fields, operatorChange }: Audited & { readonly target: LocationTarget; readonly fields: LocationChange },
): Promise<VersionedLocation> {
  const change = async (own: LocationDeps) =>
    requireFreeCode(requireSameLocation(await callChangeLocation(own, target, fields)))
  return runAuditedChange(deps, operatorChange, change, ({ version }) =>
    auditLocation(target.id, { ...fields, version }),
  )
}

/**
 * Deletes a location. Its row stays, because the ledger refers to it.
 * @throws locationNotFound if it does not exist, locationChanged if it has another version than the deletion expects,
 * locationHasStock while stock is on hand there
 */
export function deleteLocation(
  deps: LocationDeps,
  { target, operatorChange }: Audited & { readonly target: LocationTarget },
): Promise<void> {
  const remove = async (own: LocationDeps) => {
    const verdict = requireSameLocation(await callDeleteLocation(own, target))
    if (verdict === 'has-stock') throw locationHasStock()
  }
  return runAuditedChange(deps, operatorChange, remove, () => auditLocation(target.id, { deleted: true }))
}

function auditLocation(id: number, changes: object) {
  return { action: 'locations.change', object: { kind: 'location', id }, productIds: [], changes } as const
}
