import { type AuditDeps, recordAudit } from '../audit/audit-log.ts'
import type { Db, Trx } from '../database.ts'
import {
  currentPasswordInvalid,
  currentPasswordRequired,
  reauthenticationNeeded,
  reauthenticationNotValid,
  samePassword,
  ssoUserManaged,
} from '../errors.ts'
import { secondFactorNeeded } from '../factor-errors.ts'
import { hasVerifiedFactor } from '../factors/factor-repository.ts'
import { matchesCode } from '../one-time-tokens/one-time-token.ts'
import {
  claimToken,
  countCodeAttempt,
  hashAttemptKey,
  returnCodeAttempt,
} from '../one-time-tokens/one-time-token-repository.ts'
import { type NewPasswordRules, requireNewPassword } from '../passwords/hash-new-password.ts'
import type { PasswordHasher } from '../passwords/password-hasher.ts'
import { type FailedCheckDeps, isBlocked, recordFailedCheck } from '../rate-limits/rate-limits.ts'
import { readCode, type UserIdentifier } from '../requests/fields.ts'
import type { ServerKeys } from '../secrets/encrypted-secret.ts'
import type { User } from '../users/user.ts'
import { findAddressChange } from '../users/user-change-repository.ts'
import { type ActiveCaller, type FreshSessionDeps, requireFreshSession } from './active-caller.ts'
import { refuseAdminWithoutFactor } from './admin.ts'
import { isByOldCredential, listSessionMethods, PASSWORD_METHOD_MS, type SessionMethod } from './session-repository.ts'
import { type AttemptHookDeps, judgePasswordAttempt } from './session-view.ts'

export interface NewPasswordDeps extends NonceDeps, AttemptHookDeps, NewPasswordRules {
  readonly config: NonceDeps['config'] &
    AttemptHookDeps['config'] &
    NewPasswordRules['config'] & { readonly security: { readonly currentPasswordForPassword: boolean } }
  readonly logger: NewPasswordRules['logger']
  readonly passwords: PasswordHasher
}

/** A new password, and the client's proof that it may set the password. */
interface NewPassword {
  readonly password: string
  readonly nonce: string | undefined
  /** The password that will be replaced. */
  readonly currentPassword: string | undefined
  /** The client's IP address, for the limit of failed checks. */
  readonly ip: string
}

/** A password that may be stored, and its nonce. */
export interface PreparedPassword {
  readonly hash: string
  /** `undefined` if no nonce was required. */
  readonly nonce: CheckedNonce | undefined
  /** The hash of the current password, if the user had to send it. */
  readonly shownHash: string | null | undefined
}

/**
 * Checks and hashes a user's new password (reference: Change of password). The caller must hold no lock during this time.
 * @throws reauthenticationNeeded, samePassword, currentPasswordRequired, currentPasswordInvalid, serverBusy, and the errors of
 * `requireNewPassword`, `checkNonce` and `judgePasswordAttempt`
 */
export async function preparePassword(
  deps: NewPasswordDeps,
  caller: ActiveCaller,
  { password, nonce, currentPassword, ip }: NewPassword,
): Promise<PreparedPassword> {
  const { user } = caller
  await requireNewPassword(deps, password)
  const isNeeded = deps.config.security.reauthenticateForPassword && !(await isFresh(deps, caller))
  if (isNeeded && !nonce) throw reauthenticationNeeded()
  const checked = isNeeded && nonce ? await checkNonce(deps, user, { nonce, ip }) : undefined
  let isShown: boolean
  try {
    isShown = await requireCurrentPassword(deps, caller, { currentPassword, ip })
    // A client that has sent the current password gets no new information from this comparison.
    if (isShown ? await matchesCurrent(deps, user, password) : await isSamePassword(deps, caller, { password, ip }))
      throw samePassword()
  } catch (error) {
    // A correct nonce may be sent again with another password.
    if (checked) await returnCodeAttempt(deps.db, checked.id)
    throw error
  }
  const hash = await deps.passwords.hash(password)
  return { hash, nonce: checked, shownHash: isShown ? user.passwordHash : undefined }
}

/** Whether no nonce is needed: a sign-in within a day, by an old credential (reference: Change of password). */
async function isFresh({ db, now }: Pick<NonceDeps, 'db' | 'now'>, { session }: ActiveCaller): Promise<boolean> {
  if (!session || now().getTime() - Date.parse(session.startedAt) > PASSWORD_METHOD_MS) return false
  const isOfToday = ({ at }: SessionMethod) => now().getTime() - Date.parse(at) <= PASSWORD_METHOD_MS
  const methods = await listSessionMethods(db, session.id)
  return methods.some((used) => isOfToday(used) && isByOldCredential(used, PASSWORD_METHOD_MS))
}

/**
 * Methods of a user who may have forgotten their password. They count only with an address that is old enough. Otherwise a thief
 * of a session could change the address and sign in with it.
 */
const WITHOUT_PASSWORD: ReadonlySet<string> = new Set(['otp', 'magiclink', 'recovery'])

/**
 * Requires the current password if the settings demand it (reference: Change of password). A wrong password counts as at sign-in,
 * and the hook PASSWORD_VERIFICATION_ATTEMPT is called. @returns whether the user had to send it
 */
async function requireCurrentPassword(
  deps: NewPasswordDeps,
  { user, session }: ActiveCaller,
  { currentPassword, ip }: Pick<NewPassword, 'currentPassword' | 'ip'>,
): Promise<boolean> {
  if (!deps.config.security.currentPasswordForPassword || user.passwordHash === null) return false
  const methods = session ? await listSessionMethods(deps.db, session.id) : []
  const isExempt = (used: SessionMethod) =>
    WITHOUT_PASSWORD.has(used.method) && isByOldCredential(used, PASSWORD_METHOD_MS)
  if (methods.some(isExempt)) return false
  if (currentPassword === undefined) throw currentPasswordRequired()
  const check = { identifier: user.email ?? user.phone ?? user.id, client: ip }
  const { matches } = await deps.passwords.verify(user.passwordHash, currentPassword, user.id)
  const isRight = matches && !(await isBlocked(deps, check))
  const failure = { action: 'reauthentication_failed', actor: user, ip, traits: { proof: 'password' } } as const
  // Count a failed check before the hook is called, because the hook may refuse or take long.
  if (!isRight) {
    await recordFailedCheck(deps, check)
    await recordAudit(deps.db, deps, failure)
  }
  await judgePasswordAttempt(deps, { isRight, failure })
  if (isRight) return true
  return refuseCurrentPassword()
}

async function matchesCurrent(
  { passwords }: Pick<NewPasswordDeps, 'passwords'>,
  { id, passwordHash }: ActiveCaller['user'],
  password: string,
): Promise<boolean> {
  return (await passwords.verify(passwordHash, password, id)).matches
}

/**
 * Whether a new password equals the current one. The answer tells the client whether a guess of the current password is right,
 * because the request may then fail and change nothing. So each comparison counts as a failed check, and after too many even a
 * right guess is answered as wrong (reference: Failed checks).
 */
async function isSamePassword(
  deps: NewPasswordDeps,
  { user }: ActiveCaller,
  { password, ip }: Pick<NewPassword, 'password' | 'ip'>,
): Promise<boolean> {
  const matches = await matchesCurrent(deps, user, password)
  if (user.passwordHash === null) return false
  const check = { identifier: user.email ?? user.phone ?? user.id, client: ip }
  // Read the failed checks after the comparison, so that concurrent attempts count each other.
  const isSame = matches && !(await isBlocked(deps, check))
  await recordFailedCheck(deps, check)
  if (isSame) {
    const traits = { proof: 'new_password' }
    await recordAudit(deps.db, deps, { action: 'reauthentication_failed', actor: user, ip, traits })
  }
  return isSame
}

/** Refuses if another request has replaced the sent password while the new password was hashed. */
export function requireShownPassword(
  { shownHash }: Pick<PreparedPassword, 'shownHash'>,
  { passwordHash }: ActiveCaller['user'],
): void {
  if (shownHash !== undefined && shownHash !== passwordHash) refuseCurrentPassword()
}

function refuseCurrentPassword(): never {
  throw currentPasswordInvalid()
}

/** The dependencies of nonces. A nonce becomes invalid after `codeAttemptsMax` wrong attempts. */
interface NonceDeps extends FailedCheckDeps, AuditDeps {
  readonly config: AuditDeps['config'] & {
    readonly security: { readonly reauthenticateForPassword: boolean; readonly codeAttemptsMax: number }
  }
  readonly db: Db
  readonly now: () => Date
  readonly serverKeys: ServerKeys
}

/** A correct nonce, which `consumeNonce` must still use up. */
interface CheckedNonce {
  readonly id: string
  readonly codeHash: Buffer
}

/**
 * Finds the address that gets the nonce of a user (reference: GET /reauthenticate): the email or the phone. If a new password
 * needs a nonce, an address that was changed within a day does not count, because a thief of the session may have changed it.
 * Returns `undefined` if no address counts.
 */
export async function findNonceAddress(
  db: Db,
  { config, now }: Pick<NonceDeps, 'now'> & { readonly config: Pick<NonceDeps['config'], 'security'> },
  user: User,
): Promise<UserIdentifier | undefined> {
  for (const kind of ['email', 'phone'] as const) {
    const value = user[kind]
    if (value === null) continue
    if (!config.security.reauthenticateForPassword) return { kind, value }
    const changedAt = await findAddressChange(db, user.id, kind)
    if (changedAt === undefined || now().getTime() - Date.parse(changedAt) >= PASSWORD_METHOD_MS) return { kind, value }
  }
  return undefined
}

/**
 * Verifies a nonce (reference: Change of password). An attempt is counted before it is compared. A wrong nonce is a failed check,
 * like a wrong password. @param ip the client's address
 */
async function checkNonce(
  deps: NonceDeps,
  user: User,
  { nonce, ip }: { readonly nonce: string; readonly ip: string },
): Promise<CheckedNonce> {
  const identifier = (await findNonceAddress(deps.db, deps, user))?.value ?? user.id
  const check = { identifier, client: ip }
  const blocked = await isBlocked(deps, check)
  const wanted = { audience: user.audience, identifier, kinds: ['reauthentication'] } as const
  const keyHash = hashAttemptKey(deps.serverKeys.hmac, wanted)
  const attempt = { ...wanted, keyHash, now: deps.now(), network: undefined }
  const tokens = await countCodeAttempt(deps.db, attempt, blocked ? 0 : deps.config.security.codeAttemptsMax)
  for (const token of tokens) {
    const { id, userId, codeHash, expiresAt } = token
    const isAlive = userId === user.id && Date.parse(expiresAt) > deps.now().getTime()
    if (blocked || !isAlive || codeHash === null) continue
    if (matchesCode(deps.serverKeys.hmacs, token, { identifier, code: readCode(nonce) })) return { id, codeHash }
  }
  await recordFailedCheck(deps, check)
  await recordAudit(deps.db, deps, { action: 'reauthentication_failed', actor: user, ip, traits: { proof: 'nonce' } })
  return refuseNonce()
}

/** Uses up a nonce. Fails if a concurrent request has used it since the check. */
export async function consumeNonce(trx: Trx, nonce: CheckedNonce): Promise<void> {
  if (!(await claimToken(trx, nonce))) refuseNonce()
}

function refuseNonce(): never {
  throw reauthenticationNotValid()
}

/** The new values of the caller's own account. Fields that are `undefined` stay unchanged. */
interface WantedChange {
  readonly password: string | undefined
  readonly email: string | undefined
  readonly phone: string | undefined
  readonly appMetadata: Readonly<Record<string, unknown>> | undefined
  readonly nonce: string | undefined
}

/** Requires that the caller's session is authenticated well enough for a change of their account (reference: PUT /user). */
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
 * The kind of a change. `sign-ins`: a password or an address for sign-ins. `admin`: `app_metadata`, which only admins change, so
 * the session must meet the conditions of admin endpoints. An operator's token has no session.
 */
type Guard = 'sign-ins' | 'admin' | 'none'

function guardOf({ session }: ActiveCaller, { password, email, phone, appMetadata }: WantedChange): Guard {
  if (password !== undefined || email !== undefined || phone !== undefined) return 'sign-ins'
  return appMetadata !== undefined && session !== undefined ? 'admin' : 'none'
}

/** The properties of a change that decide whether it is allowed. */
export interface GuardedChange {
  readonly guard: Guard
  /** Whether the user has a verified second factor that this session has not used. */
  readonly lacksFactor: boolean
  readonly isSsoUser: boolean
  /** Whether the request contains a nonce, with or without a password. */
  readonly hasNonce: boolean
}

/** `fresh-sign-in-needed`: allowed if the last sign-in is recent. */
export type GuardedChangeVerdict =
  | 'allowed'
  | 'second-factor-needed'
  | 'admin-factor-needed'
  | 'managed-elsewhere'
  | 'fresh-sign-in-needed'

/** Decides whether a caller may make a change (reference: PUT /user). The order determines which error the client sees. */
export function judgeGuardedChange({ guard, lacksFactor, isSsoUser, hasNonce }: GuardedChange): GuardedChangeVerdict {
  if (guard === 'sign-ins' && lacksFactor) return 'second-factor-needed'
  if (guard === 'admin' && lacksFactor) return 'admin-factor-needed'
  // The identity provider controls an SSO user's access. A user who has left the company must get no other way to sign in.
  if (isSsoUser && (guard === 'sign-ins' || hasNonce)) return 'managed-elsewhere'
  return guard === 'none' ? 'allowed' : 'fresh-sign-in-needed'
}
