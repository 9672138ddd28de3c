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
  /** The key under which a wrong password is counted, together with the identifier. */
  readonly failedAs: string
  readonly email: string | undefined
  readonly phone: string | undefined
  readonly password: string | undefined
  readonly audience: string
}

/** A session. It also states if the correct password no longer meets the policy. */
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
 * Signs in by password with one read, one verification and one write. No connection is held during the verification. An unknown
 * user, a user without a password, a wrong password and too many attempts take the same time and get the same answer (reference:
 * Password grant).
 */
export async function grantPassword(deps: GrantPasswordDeps, input: GrantPasswordInput): Promise<PasswordSessionView> {
  const identifier = await readSignInIdentifier(deps, input)
  const user = await findPasswordUser(deps.pools, { ...identifier, audience: input.audience })
  const verified = await checkPassword(deps, input, { identifier, user })
  if (!verified && user) refuseBanFirst(deps, user)
  // The hook is not called for an unknown user. So if it is enabled, the time of an answer may reveal this.
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
  /** Whether the password must be hashed again with the present settings. */
  readonly isOutdated: boolean
  readonly provider: IdentifierKind
}

/** Verifies a password and counts a failed check. @returns `undefined` if it is wrong or counts as wrong */
async function checkPassword(
  deps: GrantPasswordDeps,
  { password = '', failedAs, ip }: GrantPasswordInput,
  {
    identifier,
    user,
  }: {
    readonly identifier: UserIdentifier
    /** `undefined` for an unknown identifier. */
    readonly user: PasswordUser | undefined
  },
): Promise<VerifiedPassword | undefined> {
  const check = { identifier: identifier.value, client: failedAs }
  const verifiedHash = user?.passwordHash ?? null
  const { matches, isOutdated } = await deps.passwords.verify(verifiedHash, password, user?.id)
  // Check the limit after the verification, so that concurrent attempts see each other's failed checks.
  const blocked = await isBlocked(deps, check)
  // If the settings hide unconfirmed accounts, a correct password counts as wrong, so that no answer reveals them.
  const mayRevealUnconfirmed = deps.config.signup.revealsUnconfirmed || user?.isConfirmed === true
  if (user && verifiedHash !== null && matches && !blocked && mayRevealUnconfirmed)
    return { user, verifiedHash, isOutdated, provider: identifier.kind }
  await recordFailedCheck(deps, check)
  // Record this for unknown addresses too, because the time of the entry would reveal which accounts exist.
  await recordAudit(deps.db, deps, signInFailure(user?.id ?? null, identifier, { ip }))
  return undefined
}

/** Returns the audit log entry of a failed sign-in. It contains no address of an unknown account. */
function signInFailure<Id extends string | null>(
  id: Id,
  { kind, value }: UserIdentifier,
  { ip }: Pick<GrantPasswordInput, 'ip'>,
) {
  const actor = { ...UNKNOWN_ACTOR, ...(id !== null && { [kind]: value }), id }
  return { action: 'login_failed', actor, ip, traits: { provider: kind } } as const
}

/** Refuses a banned user even for a wrong password, if the profile shows the ban first. */
function refuseBanFirst({ config, now }: Pick<GrantPasswordDeps, 'config' | 'now'>, user: PasswordUser): void {
  if (config.compatibility.showBanBeforePassword && isBanned(user, now())) refuseBannedSignIn()
}

/** @returns `undefined` if the user's password has changed since the verification */
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
  // Users without a phone may have an empty text as their phone.
  return value === '' ? refusePassword() : { kind: 'phone', value }
}
