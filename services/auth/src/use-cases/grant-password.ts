import { auditToLog } from '../audit/audit-log.ts'
import type { AuthDeps } from '../deps.ts'
import {
  emailLoginsDisabled,
  emailNotConfirmed,
  invalidCredentials,
  loginUserBanned,
  phoneLoginsDisabled,
  phoneNotConfirmed,
  validationFailed,
} from '../errors.ts'
import { normaliseEmail, normalisePhone, type UserIdentifier } from '../identifier.ts'
import { checkPasswordPolicy, type WeakPasswordReason } from '../passwords/password-policy.ts'
import { isBlocked, recordFailure } from '../rate-limits/failed-attempts.ts'
import { judgePasswordAttempt } from '../sessions/attempt-hooks.ts'
import { FIRST_TOKEN_BYTES, firstRefreshToken, hashRefreshToken } from '../sessions/refresh-token.ts'
import type { SessionOrigin } from '../sessions/session.ts'
import { type SessionView, signNewSession } from '../sessions/session-view.ts'
import { findLogin, type Login } from '../users/user-repository.ts'

export interface PasswordGrant extends SessionOrigin {
  readonly email: string | undefined
  readonly phone: string | undefined
  readonly password: string | undefined
  readonly audience: string
  /** The client's address, as far as limits may believe it. */
  readonly address: string
}

/** A session, and what is wrong with the password though it was right. */
export interface PasswordSessionView extends SessionView {
  readonly weak_password?: { readonly message: string; readonly reasons: readonly WeakPasswordReason[] }
}

/** What this use case works with. */
export type PasswordGrantDeps = Pick<
  AuthDeps,
  | 'lanes'
  | 'config'
  | 'db'
  | 'hooks'
  | 'logger'
  | 'now'
  | 'randomBytes'
  | 'passwords'
  | 'signInByPassword'
  | 'signingKeys'
  | 'rateLimits'
  | 'serverKeys'
>

const REFUSALS = {
  'password-changed': invalidCredentials,
  'user-banned': loginUserBanned,
  'email-not-confirmed': emailNotConfirmed,
  'phone-not-confirmed': phoneNotConfirmed,
}

/**
 * Signs in by password: one read, one comparison, one write; no connection is held while comparing. Unknown users,
 * users without a password, wrong passwords and too many attempts cost the same and look the same
 * (reference: Password grant).
 */
export async function grantPassword(deps: PasswordGrantDeps, grant: PasswordGrant): Promise<PasswordSessionView> {
  const identifier = identifierOf(deps, grant)
  const password = grant.password ?? ''
  const attempt = { identifier: identifier.value, address: grant.address }
  const login = await findLogin(deps.lanes, { ...identifier, audience: grant.audience })
  const verifiedHash = login?.passwordHash ?? null
  const { matches, isOutdated } = await deps.passwords.verify(verifiedHash, password)
  // Asked after the comparison: of many guesses that come at once, the later ones meet the failures of the first.
  const blocked = await isBlocked(deps, attempt)
  const isTold = deps.config.signup.tellsUnconfirmed || login?.isConfirmed === true
  const isRight = matches && !blocked && isTold
  if (!isRight) await recordFailure(deps, attempt)
  // Of somebody whom nobody knows there is nothing to tell: where this hook is on, the time of an answer may show that.
  if (login) await judgePasswordAttempt(deps, login.id, isRight)
  if (!isRight || login === undefined || verifiedHash === null) throw invalidCredentials()
  const newHash = isOutdated ? await deps.passwords.hash(password) : null
  return finish(deps, grant, { login, verifiedHash, newHash, provider: identifier.kind })
}

interface VerifiedLogin {
  readonly login: Login
  readonly verifiedHash: string
  readonly newHash: string | null
  readonly provider: 'email' | 'phone'
}

async function finish(
  deps: PasswordGrantDeps,
  { userAgent, ip, password = '' }: PasswordGrant,
  { login, verifiedHash, newHash, provider }: VerifiedLogin,
): Promise<PasswordSessionView> {
  const refreshToken = firstRefreshToken(deps.randomBytes(FIRST_TOKEN_BYTES))
  const result = await deps.signInByPassword({
    userId: login.id,
    verifiedHash,
    newHash,
    provider,
    tokenHash: hashRefreshToken(refreshToken),
    userAgent,
    ip,
  })
  if (result.verdict !== 'done') throw REFUSALS[result.verdict]()
  auditToLog(deps, { action: 'login', actorId: login.id, ip })
  const view = await signNewSession(deps, { ...result.session, refreshToken })
  const policy = checkPasswordPolicy(deps.config.passwords.policy, password)
  if (policy.verdict !== 'weak') return view
  return { ...view, weak_password: { message: policy.message, reasons: policy.reasons } }
}

function identifierOf({ config }: PasswordGrantDeps, { email, phone }: PasswordGrant): UserIdentifier {
  if (email && phone) {
    throw validationFailed({ message: 'Only an email address or phone number should be provided on login.' })
  }
  if (email) {
    if (!config.signup.emailEnabled) throw emailLoginsDisabled()
    return { kind: 'email', value: normaliseEmail(email) }
  }
  if (!phone) throw validationFailed({ message: 'missing email or phone' })
  if (!config.signup.phoneEnabled) throw phoneLoginsDisabled()
  const digits = normalisePhone(phone)
  if (digits === undefined) throw validationFailed({ message: 'Invalid phone number format (E.164 required)' })
  return { kind: 'phone', value: digits }
}
