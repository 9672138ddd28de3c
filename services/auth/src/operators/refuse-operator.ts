import type { OperatorAction, OperatorRole } from '@trestle/operators/operator-roles.ts'
import { operatorForbidden } from '../operator-errors.ts'

/** Refuses an operator whose role may not do an action, or not to this user. @throws operatorForbidden */
export function refuseOperator(role: OperatorRole, action: OperatorAction): never {
  throw operatorForbidden({ details: { action, role } })
}
