import { defineError } from '@trestle/common/errors/define-error.ts'

// Errors of what is left to operators (console reference: Console roles in auth).

export const consoleRoleReserved = defineError(
  422,
  'console_role_reserved',
  'app_metadata.console_role can only be changed by an operator',
)
export const consoleUserProtected = defineError(
  403,
  'console_user_protected',
  'Only operators act on a user with a console role',
)
