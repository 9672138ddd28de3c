import type { Pools } from '@trestle/database/pools.ts'
import { auditToLog, recordAudit, UNKNOWN_ACTOR } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import { emailNotConfirmed, phoneNotConfirmed, phoneSignInsDisabled } from '../errors.ts'
import { requireEmailSignIns } from '../messages/message-request.ts'
import type { PasswordHasher } from '../passwords/password-hasher.ts'
import { checkPasswordPolicy, type WeakPasswordReason } from '../passwords/password-policy.ts'
import { type FailedCheckDeps, isBlocked, recordFailedCheck } from '../rate-limits/rate-limits.ts'
import { addressMissingAtSignIn, twoAddressesAtSignIn } from '../request-errors.ts'
import { type IdentifierKind, normaliseEmail, stripPhone, type UserIdentifier } from '../requests/fields.ts'
import type { RandomBytes } from '../secrets/encrypted-secret.ts'
import type { PasswordSignInResult, SignInByPassword } from '../sessions/create-session.ts'
import { FIRST_TOKEN_BYTES, firstRefreshToken, hashRefreshToken, type SessionOrigin } from '../sessions/session.ts'
import {
  type AttemptHookDeps,
  judgePasswordAttempt,
  refusePassword,
  type SessionView,
  type SessionViewDeps,
  signNewSession,
} from '../sessions/session-view.ts'
import { requirePhone } from '../users/require-phone.ts'
import { isBanned, refuseBannedSignIn } from '../users/user.ts'
import { findPasswordUser, type PasswordUser } from '../users/user-repository.ts'

/** The members of the request. Empty members count as absent. */
export interface GrantPasswordInput extends SessionOrigin {
  /** The text under which a wrong password counts, beside the identifier. */
  readonly failedAs: string
  readonly email: string | undefined
  readonly phone: string | undefined
  readonly password: string | undefined
  readonly audience: string
}

/** A session. It says so when the password, although right, no longer meets the policy. */
export interface PasswordSessionView extends SessionView {
  readonly weak_password?: { readonly message: string; readonly reasons: readonly WeakPasswordReason[] } | null
}

export type GrantPasswordDeps = AttemptHookDeps &
  FailedCheckDeps &
  SessionViewDeps & {
    readonly config: AuthConfig
    readonly pools: Pools
    readonly randomBytes: RandomBytes
    readonly passwords: PasswordHasher
    readonly signInByPassword: SignInByPassword
  }

/**
 * Signs in by password: one read, one verification, one write. No connection is held while the password is verified. An unknown
 * user, a user without a password, a wrong password and too many attempts cost the same and look the same (reference: Password
 * grant).
 */
export async function grantPassword(deps: GrantPasswordDeps, input: GrantPasswordInput): Promise<PasswordSessionView> {
  const identifier = await readSignInIdentifier(deps, input)
  const user = await findPasswordUser(deps.pools, { ...identifier, audience: input.audience })
  const verified = await checkPassword(deps, input, { identifier, user })
  if (!verified && user) refuseBanFirst(deps, user)
  // The hook is skipped for an unknown user, so where it is on, the time of an answer may reveal that.
  if (user)
    await judgePasswordAttempt(deps, {
      isRight: verified !== undefined,
      failure: signInFailure(user.id, identifier, input),
    })
  const view = verified && (await signInVerified(deps, input, verified))
  return view ?? refusePassword()
}

interface VerifiedPassword {
  readonly user: PasswordUser
  readonly verifiedHash: string
  /** Whether the password must be hashed again. */
  readonly isOutdated: boolean
  readonly provider: IdentifierKind
}

/** Verifies a password, and counts a failed check. @returns undefined where it is wrong, or counts as wrong */
async function checkPassword(
  deps: GrantPasswordDeps,
  { password = '', failedAs, ip }: GrantPasswordInput,
  {
    identifier,
    user,
  }: {
    readonly identifier: UserIdentifier
    /** Undefined for an unknown identifier. */
    readonly user: PasswordUser | undefined
  },
): Promise<VerifiedPassword | undefined> {
  const check = { identifier: identifier.value, client: failedAs }
  const verifiedHash = user?.passwordHash ?? null
  const { matches, isOutdated } = await deps.passwords.verify(verifiedHash, password, user?.id)
  // Look at the failed checks after the verification, so that concurrent attempts see each other's.
  const blocked = await isBlocked(deps, check)
  // If the settings hide unconfirmed accounts, treat the correct password as wrong. A different answer would reveal the account.
  const mayRevealUnconfirmed = deps.config.signup.revealsUnconfirmed || user?.isConfirmed === true
  if (user && verifiedHash !== null && matches && !blocked && mayRevealUnconfirmed)
    return { user, verifiedHash, isOutdated, provider: identifier.kind }
  await recordFailedCheck(deps, check)
  // Also for an unknown address: an entry takes time, which would reveal who has an account.
  await recordAudit(deps.db, deps, signInFailure(user?.id ?? null, identifier, { ip }))
  return undefined
}

/** The entry of the audit log for a sign-in that fails. It has no address of an unknown account. */
function signInFailure<Id extends string | null>(
  id: Id,
  { kind, value }: UserIdentifier,
  { ip }: Pick<GrantPasswordInput, 'ip'>,
) {
  const actor = { ...UNKNOWN_ACTOR, ...(id !== null && { [kind]: value }), id }
  return { action: 'login_failed', actor, ip, traits: { provider: kind } } as const
}

/** Refuses a banned user even for a wrong password, in a profile that shows the ban first. */
function refuseBanFirst({ config, now }: Pick<GrantPasswordDeps, 'config' | 'now'>, user: PasswordUser): void {
  if (config.compatibility.showBanBeforePassword && isBanned(user, now())) refuseBannedSignIn()
}

/** @returns undefined where the user has got another password since this one was verified */
async function signInVerified(
  deps: GrantPasswordDeps,
  { userAgent, ip, password = '' }: GrantPasswordInput,
  { user, verifiedHash, isOutdated, provider }: VerifiedPassword,
): Promise<PasswordSessionView | undefined> {
  const newHash = isOutdated ? await deps.passwords.hash(password) : null
  const refreshToken = firstRefreshToken(deps.randomBytes(FIRST_TOKEN_BYTES))
  const result = await deps.signInByPassword({
    userId: user.id,
    verifiedHash,
    newHash,
    provider,
    tokenHash: hashRefreshToken(refreshToken),
    userAgent,
    ip,
  })
  if (result.verdict === 'password-changed') return undefined
  if (result.verdict !== 'done') return refuseSignIn(result.verdict)
  auditToLog(deps, { action: 'login', actorId: user.id, ip })
  const view = await signNewSession(deps, { ...result.session, refreshToken })
  const policy = checkPasswordPolicy(deps.config.passwords.policy, password)
  if (policy.verdict !== 'weak')
    return deps.config.compatibility.showNullWeakPassword ? { ...view, weak_password: null } : view
  return { ...view, weak_password: { message: policy.message, reasons: policy.reasons } }
}

function refuseSignIn(verdict: Exclude<PasswordSignInResult['verdict'], 'done' | 'password-changed'>): never {
  switch (verdict) {
    case 'user-banned':
      return refuseBannedSignIn()
    case 'email-not-confirmed':
      throw emailNotConfirmed()
    case 'phone-not-confirmed':
      throw phoneNotConfirmed()
  }
}

async function readSignInIdentifier(
  deps: Pick<GrantPasswordDeps, 'config' | 'db'>,
  { email, phone }: GrantPasswordInput,
): Promise<UserIdentifier> {
  const { config } = deps
  if (email && phone) throw twoAddressesAtSignIn()
  if (email) {
    requireEmailSignIns(config.signup)
    return { kind: 'email', value: normaliseEmail(email) }
  }
  if (!phone) throw addressMissingAtSignIn()
  if (!config.signup.phoneEnabled) throw phoneSignInsDisabled()
  if (!config.compatibility.findUserByMalformedPhone) return { kind: 'phone', value: await requirePhone(deps, phone) }
  const value = stripPhone(phone)
  // Users without a phone may have the empty text in its place.
  return value === '' ? refusePassword() : { kind: 'phone', value }
}
