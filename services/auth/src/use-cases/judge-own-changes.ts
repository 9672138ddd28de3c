import type { AuthDeps } from '../deps.ts'
import { anonymousPassword, emailExists, phoneExists, secondFactorNeeded } from '../errors.ts'
import { hasVerifiedFactor } from '../factors/factor-repository.ts'
import { newAddress, type OwnAddresses } from './change-own-addresses.ts'
import { isTaken } from './claim-identifier.ts'
import type { ActiveCaller } from './find-caller.ts'
import { requireFreshSession } from './require-fresh-session.ts'

/**
 * What a caller may not change about themselves, in the order of contract 4.6.
 * @throws secondFactorNeeded, signInTooOld, anonymousPassword, emailExists, phoneExists
 */
export async function judgeOwnChanges(
  deps: Pick<AuthDeps, 'config' | 'db' | 'now'>,
  caller: ActiveCaller,
  changes: OwnAddresses & { readonly password: string | undefined },
): Promise<void> {
  const { db } = deps
  const { user, session } = caller
  const [email, phone] = [newAddress(user, changes, 'email'), newAddress(user, changes, 'phone')]
  const isGuarded = changes.password !== undefined || email !== undefined || phone !== undefined
  if (isGuarded && session?.aal !== 'aal2' && (await hasVerifiedFactor(db, user.id))) throw secondFactorNeeded()
  if (isGuarded) await requireFreshSession(db, deps, caller)
  if (user.isAnonymous && changes.password !== undefined && !changes.email && !changes.phone) throw anonymousPassword()
  if (email !== undefined && (await isTaken(db, { kind: 'email', value: email }, user.id))) throw emailExists()
  if (phone !== undefined && (await isTaken(db, { kind: 'phone', value: phone }, user.id))) throw phoneExists()
}
