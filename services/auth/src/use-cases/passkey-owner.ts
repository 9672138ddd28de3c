import type { Kysely } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { passkeysNeedSecondFactor } from '../factor-errors.ts'
import { hasVerifiedFactor } from '../factors/factor-repository.ts'
import { type ActiveCaller, requireFreshSession } from '../sessions/active-caller.ts'
import { type FactorOwner, requireFactorOwner } from './factor-owner.ts'

/**
 * Requires that a caller may change passkeys. A user with a second factor must have shown it. Otherwise somebody with a stolen
 * password could add a passkey of their own.
 * @throws sessionNotFound, anonymousNotAllowed, passkeysNeedSecondFactor, signInTooOld
 */
export async function requirePasskeyOwner(
  db: Kysely<AuthDatabase>,
  deps: Pick<AuthDeps, 'config' | 'now'>,
  caller: ActiveCaller,
): Promise<FactorOwner> {
  const owner = requireFactorOwner(caller)
  if (owner.session.aal !== 'aal2' && (await hasVerifiedFactor(db, owner.user.id))) throw passkeysNeedSecondFactor()
  await requireFreshSession(db, deps, caller)
  return owner
}
