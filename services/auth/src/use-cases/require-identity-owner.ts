import type { Kysely } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { identitiesNeedSecondFactor } from '../factor-errors.ts'
import { hasVerifiedFactor } from '../factors/factor-repository.ts'
import type { ActiveCaller } from './find-caller.ts'

/**
 * Lets a caller change by which accounts they sign in. Clients of today do so at aal1; in the strict profile who has a second
 * factor must have shown it. @throws identitiesNeedSecondFactor
 */
export async function requireIdentityOwner(
  db: Kysely<AuthDatabase>,
  { config }: Pick<AuthDeps, 'config'>,
  { user, session }: ActiveCaller,
): Promise<void> {
  if (!config.security.factorGuardsIdentities || session?.aal === 'aal2') return
  if (await hasVerifiedFactor(db, user.id)) throw identitiesNeedSecondFactor()
}
