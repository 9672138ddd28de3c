import { recordAudit } from '../audit/audit-log.ts'
import { currentPasswordInvalid, currentPasswordRequired, reauthenticationNeeded, samePassword } from '../errors.ts'
import { returnGuess } from '../one-time-tokens/one-time-token-repository.ts'
import { type NewPasswordRules, requireNewPassword } from '../passwords/hash-new-password.ts'
import type { PasswordHasher } from '../passwords/password-hasher.ts'
import { isBlocked, recordFailedCheck } from '../rate-limits/failed-checks.ts'
import type { ActiveCaller } from './active-caller.ts'
import { type AttemptHookDeps, judgePasswordAttempt } from './attempt-hooks.ts'
import { type CheckedNonce, checkNonce, type NonceDeps } from './nonce.ts'
import { isByOldCredential, listProofs, PASSWORD_PROOF_MS, type Proof } from './proof-repository.ts'

export interface NewPasswordDeps extends NonceDeps, AttemptHookDeps, NewPasswordRules {
  readonly config: NonceDeps['config'] &
    AttemptHookDeps['config'] &
    NewPasswordRules['config'] & { readonly security: { readonly currentPasswordForPassword: boolean } }
  readonly logger: NewPasswordRules['logger']
  readonly passwords: PasswordHasher
}

/** A new password with what a client sent to prove that it may set it. */
export interface NewPassword {
  readonly password: string
  readonly nonce: string | undefined
  /** The password that the new one replaces. */
  readonly currentPassword: string | undefined
  /** The client's address, for the limit of failed checks. */
  readonly ip: string
}

/** A password that may be stored, and the nonce that goes with it. */
export interface PreparedPassword {
  readonly hash: string
  /** Undefined where no nonce was needed. */
  readonly nonce: CheckedNonce | undefined
  /** The hash of the current password, where the user had to show it; else undefined. */
  readonly shownHash: string | null | undefined
}

/**
 * Checks a new password of a user, and hashes it (reference: Change of password). The caller holds no lock meanwhile.
 * @throws reauthenticationNeeded, samePassword, currentPasswordRequired, currentPasswordInvalid, serverBusy, and what
 * `requireNewPassword`, `checkNonce` and `judgePasswordAttempt` throw
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
    // A client that has shown the current password learns nothing from this comparison.
    if (isShown ? await matchesCurrent(deps, user, password) : await isSamePassword(deps, caller, { password, ip }))
      throw samePassword()
  } catch (error) {
    // A correct nonce may be sent again with another password.
    if (checked) await returnGuess(deps.db, checked.id)
    throw error
  }
  const hash = await deps.passwords.hash(password)
  return { hash, nonce: checked, shownHash: isShown ? user.passwordHash : undefined }
}

/** Whether no nonce is needed: the user has signed in within a day, by an old credential (reference: Change of password). */
async function isFresh({ db, now }: Pick<NonceDeps, 'db' | 'now'>, { session }: ActiveCaller): Promise<boolean> {
  if (!session || now().getTime() - Date.parse(session.startedAt) > PASSWORD_PROOF_MS) return false
  const isOfToday = ({ at }: Proof) => now().getTime() - Date.parse(at) <= PASSWORD_PROOF_MS
  const proofs = await listProofs(db, session.id)
  return proofs.some((proof) => isOfToday(proof) && isByOldCredential(proof, PASSWORD_PROOF_MS))
}

/**
 * Methods of a user who may have forgotten their password. They count only for an address that the user had before: a thief of a
 * session can change the address, and sign in with the new one.
 */
const WITHOUT_PASSWORD: ReadonlySet<string> = new Set(['otp', 'magiclink', 'recovery'])

/**
 * Requires the current password where the settings say so (reference: Change of password). A wrong password counts as it does at
 * sign-in, and the hook PASSWORD_VERIFICATION_ATTEMPT is told of each. @returns whether the user had to show it
 */
async function requireCurrentPassword(
  deps: NewPasswordDeps,
  { user, session }: ActiveCaller,
  { currentPassword, ip }: Pick<NewPassword, 'currentPassword' | 'ip'>,
): Promise<boolean> {
  if (!deps.config.security.currentPasswordForPassword || user.passwordHash === null) return false
  const proofs = session ? await listProofs(deps.db, session.id) : []
  const isExempt = (proof: Proof) => WITHOUT_PASSWORD.has(proof.method) && isByOldCredential(proof, PASSWORD_PROOF_MS)
  if (proofs.some(isExempt)) return false
  if (currentPassword === undefined) throw currentPasswordRequired()
  const check = { identifier: user.email ?? user.phone ?? user.id, client: ip }
  const { matches } = await deps.passwords.verify(user.passwordHash, currentPassword, user.id)
  const isRight = matches && !(await isBlocked(deps, check))
  const failure = { action: 'reauthentication_failed', actor: user, ip, traits: { proof: 'password' } } as const
  // A failed check is counted before the hook is called, since the hook may refuse or take long.
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
 * Whether a new password is the current one, as far as the client may learn that. The answer is that of a guess at the current
 * password, since the request may fail afterwards and change nothing. So each comparison counts as a failed check, and after too
 * many a right guess is answered like a wrong one (reference: Failed checks).
 */
async function isSamePassword(
  deps: NewPasswordDeps,
  { user }: ActiveCaller,
  { password, ip }: Pick<NewPassword, 'password' | 'ip'>,
): Promise<boolean> {
  const matches = await matchesCurrent(deps, user, password)
  if (user.passwordHash === null) return false
  const check = { identifier: user.email ?? user.phone ?? user.id, client: ip }
  // Look at the failed checks after the comparison, so that concurrent guesses see each other's.
  const isSame = matches && !(await isBlocked(deps, check))
  await recordFailedCheck(deps, check)
  if (isSame) {
    const traits = { proof: 'new_password' }
    await recordAudit(deps.db, deps, { action: 'reauthentication_failed', actor: user, ip, traits })
  }
  return isSame
}

/**
 * Requires that the password which the user has shown is still theirs: another request may have replaced it while the new one was
 * hashed. @throws currentPasswordInvalid
 */
export function requireShownPassword(
  { shownHash }: Pick<PreparedPassword, 'shownHash'>,
  { passwordHash }: ActiveCaller['user'],
): void {
  if (shownHash !== undefined && shownHash !== passwordHash) refuseCurrentPassword()
}

/** Refuses a current password that is wrong. @throws currentPasswordInvalid */
function refuseCurrentPassword(): never {
  throw currentPasswordInvalid()
}
