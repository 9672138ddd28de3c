import { mayDo, type OperatorAction, type OperatorRole } from '@trestle/operators/operator-roles.ts'
import { operatorForbidden } from '../errors.ts'

/**
 * Requires that the role of an operator may do an action (console reference: Actions).
 * @param action undefined: no operator may do it
 * @throws operatorForbidden with the action and the role
 */
export function requireAction(role: OperatorRole, action: OperatorAction | undefined): void {
  if (action !== undefined && mayDo(role, action)) return
  throw operatorForbidden({ details: action === undefined ? { role } : { action, role } })
}
