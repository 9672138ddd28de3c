import type { Kysely } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { identitiesNeedSecondFactor } from '../factor-errors.ts'
import { hasVerifiedFactor } from '../factors/factor-repository.ts'
import { type ActiveCaller, requireFreshSession } from '../sessions/active-caller.ts'

/**
 * Lets a caller change by which accounts they sign in. Clients of today do so at aal1; in the strict profile who has a second
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
 * The part of that which is asked again when a flow that links comes back: its user may have added their first factor meanwhile.
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
 * Lets a caller change an address along with their identities, in every profile: who has a second factor must have shown it, as
 * for any other change of an address. @throws identitiesNeedSecondFactor
 */
export async function requireShownFactor(db: Kysely<AuthDatabase>, { session, user }: ActiveCaller): Promise<void> {
  if (session?.aal !== 'aal2' && (await hasVerifiedFactor(db, user.id))) throw identitiesNeedSecondFactor()
}
