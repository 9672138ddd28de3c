import type { Db } from '../database.ts'
import { type Factor, requireFactor } from '../factors/factor.ts'
import { countRecoveryCodes, findRecoveryFactor } from '../factors/recovery-code-repository.ts'
import { type ActiveCallerDeps, findCaller, requireFactorOwner } from '../sessions/active-caller.ts'
import type { TokenUser } from '../sessions/token-user.ts'

/**
 * Counts the recovery codes of the caller: `total` were made together, `remaining` are unused.
 * @throws factorNotFound where there are none, sessionNotFound, anonymousNotAllowed, tokenUserNotFound, userBanned
 */
export async function getRecoveryCodeCounts(
  deps: ActiveCallerDeps & { readonly db: Db },
  caller: TokenUser,
): Promise<{ readonly factor: Factor; readonly total: number; readonly remaining: number }> {
  const { user } = requireFactorOwner(await findCaller(deps, caller))
  const factor = requireFactor(await findRecoveryFactor(deps.db, user.id))
  return { factor, ...(await countRecoveryCodes(deps.db, factor.id)) }
}
