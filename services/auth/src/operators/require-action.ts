import { mayDo, type OperatorAction, type OperatorRole } from '@trestle/operators/operator-roles.ts'
import { operatorForbidden, operatorUnauthorized } from '../operator-errors.ts'

/** Requires that the role of an operator may do an action (console reference: Actions). @throws operatorForbidden */
export function requireAction(role: OperatorRole, action: OperatorAction): void {
  if (!mayDo(role, action)) refuseAction(role, action)
}

/** Refuses an operator whose role may not do an action, or not to this user. @throws operatorForbidden */
export function refuseAction(role: OperatorRole, action: OperatorAction): never {
  throw operatorForbidden({ details: { action, role } })
}

/** Requires the operator of a request, or what belongs to them. @throws operatorUnauthorized */
export function requireOperator<Found>(found: Found | undefined): Found {
  if (found === undefined) throw operatorUnauthorized()
  return found
}
