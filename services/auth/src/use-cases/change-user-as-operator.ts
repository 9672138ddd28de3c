import type { AuthDeps } from '../deps.ts'
import { type OperatorAnswer, type OperatorChange, toOperatorAdmin } from '../operators/operator-change.ts'
import { asChange } from '../operators/operator-change-repository.ts'
import { type AdminUserFields, parseAdminChange } from '../users/admin-user-request.ts'
import type { Profile } from '../users/profile-repository.ts'
import { viewUser } from '../users/user-view.ts'
import { changeUserAsAdmin } from './change-user-as-admin.ts'

type ChangeUserDeps = Parameters<typeof changeUserAsAdmin>[0] & Pick<AuthDeps, 'config'>

/** A user, and what an operator changes. */
export interface ChangeUserAsOperatorInput {
  readonly change: OperatorChange
  readonly userId: string
  /** As in the body of an admin. */
  readonly fields: AdminUserFields
  /** What the audit log says of it. Never a secret. */
  readonly changes: object
  /** Throws for a user to whom the change does not apply. It sees the user as changed. */
  readonly check?: (changed: Profile) => void
}

/**
 * Changes a user for an operator, as an admin of the API does (console reference: Routes of auth).
 * @throws operatorForbidden for a protected user, and what `parseAdminChange`, `changeUserAsAdmin`, `asChange` and `check` throw
 */
export function changeUserAsOperator(
  deps: ChangeUserDeps,
  { change, userId, fields, changes, check = () => undefined }: ChangeUserAsOperatorInput,
): Promise<OperatorAnswer> {
  const { config } = deps
  const admin = toOperatorAdmin(change, config.jwt)
  const wanted = parseAdminChange(config, fields)
  const input = { admin, userId, audience: undefined, wanted, ip: change.operator.address }
  return changeUserAsAdmin(
    deps,
    input,
    asChange(change, (changed) => {
      check(changed)
      return { status: 200, answer: { user: viewUser(changed) }, object: { kind: 'user', id: userId }, changes }
    }),
  )
}
