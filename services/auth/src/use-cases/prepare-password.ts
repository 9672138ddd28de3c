import type { AuthDeps } from '../deps.ts'
import { reauthenticationNeeded, samePassword } from '../errors.ts'
import { returnGuess } from '../one-time-tokens/one-time-token-repository.ts'
import { refuseBreached } from '../passwords/breached-passwords.ts'
import { requirePassword } from '../passwords/password-policy.ts'
import type { ActiveCaller } from '../sessions/active-caller.ts'
import { isByOldCredential, listProofs, PASSWORD_PROOF_MS, type Proof } from '../sessions/proof-repository.ts'
import { type CheckedNonce, checkNonce } from './check-nonce.ts'
import { requireCurrentPassword } from './require-current-password.ts'

export interface NewPassword {
  readonly password: string
  readonly nonce: string | undefined
  /** The one that it replaces. */
  readonly currentPassword: string | undefined
  /** Address of the client, for the limit of failures. */
  readonly address: string
}

/** A password that may be stored, and the nonce that goes with it. */
export interface PreparedPassword {
  readonly hash: string
  /** Undefined where none was needed. */
  readonly nonce: CheckedNonce | undefined
  /** The hash of the password that had to be shown for it; undefined where none was. */
  readonly shownHash: string | null | undefined
}

/**
 * Checks a password that its owner sets, and hashes it (reference: Change of password). Nothing is locked meanwhile.
 * @throws validationFailed, weakPassword, reauthenticationNeeded, reauthenticationNotValid, samePassword, and what
 *   requireCurrentPassword throws
 */
export async function preparePassword(
  deps: AuthDeps,
  caller: ActiveCaller,
  { password, nonce, currentPassword, address }: NewPassword,
): Promise<PreparedPassword> {
  const { user } = caller
  requirePassword(deps.config.passwords.policy, password)
  await refuseBreached(deps, password)
  const isNeeded = deps.config.security.reauthenticateForPassword && !(await isFresh(deps, caller))
  if (isNeeded && !nonce) throw reauthenticationNeeded()
  const checked = isNeeded && nonce ? await checkNonce(deps, user, { nonce, address }) : undefined
  let isShown: boolean
  try {
    isShown = await requireCurrentPassword(deps, caller, { currentPassword, address })
    const { matches } = await deps.passwords.verify(user.passwordHash, password)
    if (matches) throw samePassword()
  } catch (error) {
    // A nonce that was right may come again with another password.
    if (checked) await returnGuess(deps.db, checked.id)
    throw error
  }
  const hash = await deps.passwords.hash(password)
  return { hash, nonce: checked, shownHash: isShown ? user.passwordHash : undefined }
}

/**
 * Whether a sign-in within a day, by a credential that was the account's before, excuses from the nonce
 * (reference: Change of password).
 */
async function isFresh({ db, now }: Pick<AuthDeps, 'db' | 'now'>, { session }: ActiveCaller): Promise<boolean> {
  if (!session || now().getTime() - Date.parse(session.startedAt) > PASSWORD_PROOF_MS) return false
  const isOfToday = ({ at }: Proof) => now().getTime() - Date.parse(at) <= PASSWORD_PROOF_MS
  const proofs = await listProofs(db, session.id)
  return proofs.some((proof) => isOfToday(proof) && isByOldCredential(proof, PASSWORD_PROOF_MS))
}
