import type { Kysely } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { identitiesNeedSecondFactor } from '../factor-errors.ts'
import { hasVerifiedFactor } from '../factors/factor-repository.ts'
import { type ActiveCaller, requireFreshSession } from '../sessions/active-caller.ts'

/**
 * Requires that a caller may link and unlink identities. Existing clients do that at aal1. In the strict profile a user with a second
 * factor must have shown it. @throws identitiesNeedSecondFactor, signInTooOld
 */
export async function requireIdentityOwner(
  db: Kysely<AuthDatabase>,
  deps: Pick<AuthDeps, 'config' | 'now'>,
  caller: ActiveCaller,
): Promise<void> {
  await requireIdentityFactor(db, deps, caller)
  await requireFreshSession(db, deps, caller)
}

/**
 * Requires the second factor alone. Checked again when a linking flow returns: the user may have enrolled a first factor since.
 * @throws identitiesNeedSecondFactor
 */
export async function requireIdentityFactor(
  db: Kysely<AuthDatabase>,
  { config }: Pick<AuthDeps, 'config'>,
  caller: ActiveCaller,
): Promise<void> {
  if (config.security.factorGuardsIdentities) await requireShownFactor(db, caller)
}

/**
 * Requires that a user with a second factor has shown it, in every profile. For a change of identities that changes an address too.
 * @throws identitiesNeedSecondFactor
 */
export async function requireShownFactor(db: Kysely<AuthDatabase>, { session, user }: ActiveCaller): Promise<void> {
  if (session?.aal !== 'aal2' && (await hasVerifiedFactor(db, user.id))) throw identitiesNeedSecondFactor()
}
