import type { Db } from '../database.ts'
import { hasVerifiedFactor } from '../factors/factor-repository.ts'
import { listIdentities } from '../identities/identity-repository.ts'
import type { VerifyType } from '../one-time-tokens/verify-type.ts'
import { hashNewPassword, type NewPasswordRules } from '../passwords/hash-new-password.ts'
import type { PasswordHasher } from '../passwords/password-hasher.ts'
import { passwordMissingAtVerify } from '../request-errors.ts'
import { awaitsFirstSignIn, type ConfirmerDeps, confirmerTakesOver } from '../users/take-over-account.ts'
import type { User } from '../users/user.ts'

/** The rules for the password of a verification, and the hasher of passwords. */
export interface VerificationPasswordDeps extends NewPasswordRules, ConfirmerDeps {
  readonly config: NewPasswordRules['config'] & ConfirmerDeps['config']
  readonly passwords: Pick<PasswordHasher, 'hash'>
}

/** A message that is about to be used up, and its user. */
interface MessageUse {
  readonly type: VerifyType
  readonly user: User
}

/** How a code or a link came. A redirect (GET /verify and its form) takes no password and may give an auth code. */
export type MessageVia =
  | { readonly kind: 'body'; readonly password: string | undefined }
  | { readonly kind: 'redirect' }

/**
 * Hashes the password that a request sends with a code or a link. The caller holds no lock meanwhile. A missing or weak password
 * leaves the message unused.
 * @returns undefined where the password is ignored
 * @throws passwordMissingAtVerify, serverBusy, passwordTooLong, weakPassword, serviceUnavailable
 */
export async function hashVerificationPassword(
  deps: VerificationPasswordDeps,
  { type, user, via }: MessageUse & { readonly via: MessageVia },
): Promise<string | undefined> {
  if (via.kind === 'redirect') return undefined
  const { password } = via
  const verdict = await judgeVerificationPassword(deps, { type, user })
  if (!password && verdict === 'needed') throw passwordMissingAtVerify()
  if (!password || verdict === 'ignored') return undefined
  return hashNewPassword(deps, password)
}

/**
 * Whether the password of the request is stored (reference: Passwords at verification). An account that somebody has signed in to
 * keeps its password, and an account with a second factor gets none. Both can change it in a session that has shown the factor.
 */
export async function judgeVerificationPassword(
  deps: ConfirmerDeps,
  { type, user }: MessageUse,
): Promise<'needed' | 'taken' | 'ignored'> {
  if (type === 'signup' && user.passwordHash === null && !(await canSignInOtherwise(deps.db, user.id))) return 'needed'
  const isInvited = type === 'invite' && (await awaitsFirstSignIn(deps, user))
  return isInvited || (await confirmerTakesOver(deps, user)) ? 'taken' : 'ignored'
}

async function canSignInOtherwise(db: Db, userId: string): Promise<boolean> {
  const identities = await listIdentities(db, userId)
  const isExternal = identities.some(({ provider }) => provider !== 'email' && provider !== 'phone')
  return isExternal || hasVerifiedFactor(db, userId)
}
