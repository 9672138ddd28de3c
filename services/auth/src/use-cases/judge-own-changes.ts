import { newAddress, type OwnAddresses } from '../address-changes/request-address-change.ts'
import type { AuthDeps } from '../deps.ts'
import { anonymousPassword, emailExists, phoneExists, secondFactorNeeded } from '../errors.ts'
import { adminNeedsSecondFactor } from '../factor-errors.ts'
import { hasVerifiedFactor } from '../factors/factor-repository.ts'
import { type ActiveCaller, requireFreshSession } from '../sessions/active-caller.ts'
import { isTaken } from '../users/claim-identifier.ts'
import type { User } from '../users/user.ts'

/**
 * Refuses what a caller may not change of their own account (reference: PUT /user). The order decides which error they
 * see.
 * @throws secondFactorNeeded, adminNeedsSecondFactor, signInTooOld, anonymousPassword, emailExists, phoneExists
 */
export async function judgeOwnChanges(
  deps: Pick<AuthDeps, 'config' | 'db' | 'now'>,
  caller: ActiveCaller,
  changes: OwnAddresses & { readonly password: string | undefined; readonly appMetadata: object | undefined },
): Promise<void> {
  const { db } = deps
  // What admins alone may change asks of a session what their endpoints do.
  const isByAdmin = changes.appMetadata !== undefined && caller.session !== undefined
  const { user, session } = caller
  const [email, phone] = [newAddress(user, changes, 'email'), newAddress(user, changes, 'phone')]
  const isGuarded = changes.password !== undefined || email !== undefined || phone !== undefined
  if ((isGuarded || isByAdmin) && session?.aal !== 'aal2' && (await hasVerifiedFactor(db, user.id))) {
    throw isGuarded ? secondFactorNeeded() : adminNeedsSecondFactor()
  }
  if (isGuarded || isByAdmin) await requireFreshSession(db, deps, caller)
  if (user.isAnonymous && changes.password !== undefined && !changes.email && !changes.phone) throw anonymousPassword()
  await judgeTaken(deps, user, { email, phone })
}

/**
 * Anybody may become an anonymous user, so such a user is told only of what is applied at once, as POST /signup does. Else an
 * address that somebody has is answered like a free one, and no message goes there.
 */
async function judgeTaken(
  { config: { mail, sms }, db }: Pick<AuthDeps, 'config' | 'db'>,
  { id, isAnonymous }: User,
  { email, phone }: { readonly email: string | undefined; readonly phone: string | undefined },
): Promise<void> {
  const [tellsEmail, tellsPhone] = [!isAnonymous || mail.autoconfirm, !isAnonymous || sms.autoconfirm]
  if (email !== undefined && tellsEmail && (await isTaken(db, { kind: 'email', value: email }, id))) throw emailExists()
  if (phone !== undefined && tellsPhone && (await isTaken(db, { kind: 'phone', value: phone }, id))) throw phoneExists()
}
