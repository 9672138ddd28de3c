import type { Lanes } from '@trestle/database/lanes.ts'
import { goTogether } from '../go-together.ts'
import {
  callFinishPasswordLogin,
  callFinishPasswordLogins,
  type PasswordLogin,
  type PasswordLoginResult,
  type PasswordLoginRules,
} from './session-repository.ts'

/** Log-ins of this process on their way to the database. */
export interface PasswordLogins {
  /**
   * Opens a session for a user whose password was right, if nothing has changed since it was compared.
   * @throws 503 where it would wait for too long
   */
  finish(login: PasswordLogin): Promise<PasswordLoginResult>
}

/** Log-ins whose passwords were compared together go together: see `goTogether`. */
export function createPasswordLogins(lanes: Lanes, rules: PasswordLoginRules): PasswordLogins {
  return {
    finish: goTogether<PasswordLogin, PasswordLoginResult>({
      many: (logins) => callFinishPasswordLogins(lanes, logins, rules),
      alone: (login) => callFinishPasswordLogin(lanes, login, rules),
    }),
  }
}
