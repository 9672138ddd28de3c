import type { AuthConfig } from '../config.ts'
import type { Db } from '../database.ts'
import {
  anonymousNotAllowed,
  identitiesNeedSecondFactor,
  passkeysNeedSecondFactor,
  ssoIdentity,
  ssoPasskey,
} from '../factor-errors.ts'
import { hasVerifiedFactor } from '../factors/factor-repository.ts'
import type { User } from '../users/user.ts'
import { type ActiveCaller, type FreshSessionDeps, requireFreshSession } from './active-caller.ts'
import { requireSession } from './session.ts'
import type { Session } from './session-repository.ts'

interface IdentityOwnerDeps extends FreshSessionDeps {
  readonly config: Pick<AuthConfig, 'security' | 'sessions'>
}

/**
 * Requires that a caller may link and unlink identities. Existing clients do that at aal1. In the strict
 * profile a user with a second factor must have shown it. @throws identitiesNeedSecondFactor, signInTooOld
 */
export async function requireIdentityOwner(db: Db, deps: IdentityOwnerDeps, caller: ActiveCaller): Promise<void> {
  await requireIdentityFactor(db, deps, caller)
  await requireFreshSession(db, deps, caller)
}

/**
 * Requires that a user may get one more identity, in every profile: it would let an SSO user in whom the identity provider of the
 * company has removed. Checked again when a linking flow returns. @throws ssoIdentity
 */
export function requireLinkable({ user }: Pick<ActiveCaller, 'user'>): void {
  if (user.isSsoUser) throw ssoIdentity()
}

/**
 * Requires the second factor alone. Checked again when a linking flow returns: the user may have enrolled a first factor since.
 * @throws identitiesNeedSecondFactor
 */
export async function requireIdentityFactor(
  db: Db,
  { config }: Pick<IdentityOwnerDeps, 'config'>,
  caller: ActiveCaller,
): Promise<void> {
  if (config.security.factorGuardsIdentities) await requireShownFactor(db, caller)
}

/**
 * Requires that a user with a second factor has shown it, in every profile. For a change of identities that
 * changes an address too.
 * @throws identitiesNeedSecondFactor
 */
export async function requireShownFactor(db: Db, { session, user }: ActiveCaller): Promise<void> {
  if (session?.aal !== 'aal2' && (await hasVerifiedFactor(db, user.id))) throw identitiesNeedSecondFactor()
}

/** A caller who may manage second factors. */
export interface FactorOwner {
  readonly user: User
  readonly session: Session
}

/**
 * Requires a session and a user who is not anonymous. A factor is for users who can sign in again, and its
 * proof belongs to a session (reference: Live sessions). @throws sessionNotFound, anonymousNotAllowed
 */
export function requireFactorOwner({ user, session: found }: ActiveCaller): FactorOwner {
  const session = requireSession(found)
  if (user.isAnonymous) throw anonymousNotAllowed()
  return { user, session }
}

/**
 * Requires that a caller may change passkeys. A user with a second factor must have shown it. Otherwise somebody with a stolen
 * password could add a passkey of their own.
 * @throws sessionNotFound, anonymousNotAllowed, passkeysNeedSecondFactor, signInTooOld
 */
export async function requirePasskeyOwner(db: Db, deps: FreshSessionDeps, caller: ActiveCaller): Promise<FactorOwner> {
  const owner = requireFactorOwner(caller)
  if (owner.session.aal !== 'aal2' && (await hasVerifiedFactor(db, owner.user.id))) throw passkeysNeedSecondFactor()
  await requireFreshSession(db, deps, caller)
  return owner
}

/**
 * Requires that a caller may register a passkey: a passkey would let an SSO user in whom the identity provider has removed.
 * @throws ssoPasskey, sessionNotFound, anonymousNotAllowed, passkeysNeedSecondFactor, signInTooOld
 */
export async function requirePasskeyRegistrant(
  db: Db,
  deps: FreshSessionDeps,
  caller: ActiveCaller,
): Promise<FactorOwner> {
  if (caller.user.isSsoUser) throw ssoPasskey()
  return requirePasskeyOwner(db, deps, caller)
}
