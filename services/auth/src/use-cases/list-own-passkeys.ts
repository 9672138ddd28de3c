import type { Db } from '../database.ts'
import type { Passkey } from '../passkeys/credential.ts'
import { listPasskeys } from '../passkeys/passkey-repository.ts'
import { type ActiveCallerDeps, findCaller, requireFactorOwner } from '../sessions/active-caller.ts'
import type { TokenUser } from '../sessions/token-user.ts'

/**
 * Lists the passkeys of the caller in the order of their ids (reference: Passkeys).
 * @throws sessionNotFound, anonymousNotAllowed, tokenUserNotFound, userBanned
 */
export async function listOwnPasskeys(
  deps: ActiveCallerDeps & { readonly db: Db },
  caller: TokenUser,
): Promise<readonly Passkey[]> {
  const { user } = requireFactorOwner(await findCaller(deps, caller))
  return listPasskeys(deps.db, user.id)
}
