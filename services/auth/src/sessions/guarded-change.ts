import type { Db } from '../database.ts'
import { ssoUserManaged } from '../errors.ts'
import { secondFactorNeeded } from '../factor-errors.ts'
import { hasVerifiedFactor } from '../factors/factor-repository.ts'
import { type ActiveCaller, type FreshSessionDeps, requireFreshSession } from './active-caller.ts'
import { refuseAdminWithoutFactor } from './admin.ts'

/**
 * The values that a change of an own account sets; undefined members stay as they are. An address is one that
 * the user does not have.
 */
export interface WantedChange {
  readonly password: string | undefined
  readonly email: string | undefined
  readonly phone: string | undefined
  readonly appMetadata: Readonly<Record<string, unknown>> | undefined
  readonly nonce: string | undefined
}

/**
 * Requires that the session of a caller is proven well enough for a change of their account (reference: PUT /user).
 * @throws secondFactorNeeded, adminNeedsSecondFactor, ssoUserManaged, signInTooOld
 */
export async function requireGuardedChange(
  deps: FreshSessionDeps & { readonly db: Db },
  caller: ActiveCaller,
  wanted: WantedChange,
): Promise<void> {
  const { user, session } = caller
  const guard = guardOf(caller, wanted)
  const lacksFactor = guard !== 'none' && session?.aal !== 'aal2' && (await hasVerifiedFactor(deps.db, user.id))
  const hasNonce = wanted.nonce !== undefined
  switch (judgeGuardedChange({ guard, lacksFactor, isSsoUser: user.isSsoUser, hasNonce })) {
    case 'second-factor-needed':
      throw secondFactorNeeded()
    case 'admin-factor-needed':
      return refuseAdminWithoutFactor()
    case 'managed-elsewhere':
      throw ssoUserManaged()
    case 'fresh-sign-in-needed':
      return requireFreshSession(deps.db, deps, caller)
    case 'allowed':
  }
}

/**
 * The kind of a change. `sign-ins`: a password or an address, by which the user signs in. `admin`:
 * app_metadata, which only admins change, so the session must meet the conditions of admin endpoints. An
 * operator's token has no session.
 */
type Guard = 'sign-ins' | 'admin' | 'none'

function guardOf({ session }: ActiveCaller, { password, email, phone, appMetadata }: WantedChange): Guard {
  if (password !== undefined || email !== undefined || phone !== undefined) return 'sign-ins'
  return appMetadata !== undefined && session !== undefined ? 'admin' : 'none'
}

/** A change of an own account, as far as its guard depends on it. */
export interface GuardedChange {
  readonly guard: Guard
  /** Whether the user has a verified second factor that the session has not shown. */
  readonly lacksFactor: boolean
  readonly isSsoUser: boolean
  /** Whether the request has a nonce, with or without a password. */
  readonly hasNonce: boolean
}

/** `fresh-sign-in-needed`: allowed where the user has signed in a short time ago. */
export type GuardedChangeVerdict =
  | 'allowed'
  | 'second-factor-needed'
  | 'admin-factor-needed'
  | 'managed-elsewhere'
  | 'fresh-sign-in-needed'

/** Judges whether a caller may make a change (reference: PUT /user). The order decides which error the client sees. */
export function judgeGuardedChange({ guard, lacksFactor, isSsoUser, hasNonce }: GuardedChange): GuardedChangeVerdict {
  if (guard === 'sign-ins' && lacksFactor) return 'second-factor-needed'
  if (guard === 'admin' && lacksFactor) return 'admin-factor-needed'
  // Their identity provider decides who an SSO user is: who has left the company must find no other way in.
  if (isSsoUser && (guard === 'sign-ins' || hasNonce)) return 'managed-elsewhere'
  return guard === 'none' ? 'allowed' : 'fresh-sign-in-needed'
}
