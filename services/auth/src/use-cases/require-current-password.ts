import type { AuthDeps } from '../deps.ts'
import { currentPasswordInvalid, currentPasswordRequired } from '../errors.ts'
import { isBlocked, recordFailure } from '../rate-limits/failed-attempts.ts'
import type { ActiveCaller } from '../sessions/active-caller.ts'
import { isByOldCredential, listProofs, PASSWORD_PROOF_MS, type Proof } from '../sessions/proof-repository.ts'
import { judgePasswordAttempt } from './judge-attempt.ts'

/**
 * How somebody signs in who may have forgotten their password: by an address that was theirs before. Whoever has stolen a
 * session can change the address, and sign in by the new one.
 */
const WITHOUT_PASSWORD: ReadonlySet<string> = new Set(['otp', 'magiclink', 'recovery'])

/**
 * Asks for the password that is to be replaced (reference: Change of password). A wrong one counts like one at
 * sign-in, and the hook PASSWORD_VERIFICATION_ATTEMPT hears of each. @returns whether it had to be shown
 * @throws currentPasswordRequired, currentPasswordInvalid, invalidCredentials in the hook's words
 */
export async function requireCurrentPassword(
  deps: Pick<AuthDeps, 'config' | 'db' | 'hooks' | 'passwords' | 'rateLimits' | 'serverKeys'>,
  { user, session }: ActiveCaller,
  given: { readonly currentPassword: string | undefined; readonly address: string },
): Promise<boolean> {
  if (!deps.config.security.currentPasswordForPassword || user.passwordHash === null) return false
  const proofs = session ? await listProofs(deps.db, session.id) : []
  const isExempt = (proof: Proof) => WITHOUT_PASSWORD.has(proof.method) && isByOldCredential(proof, PASSWORD_PROOF_MS)
  if (proofs.some(isExempt)) return false
  if (given.currentPassword === undefined) throw currentPasswordRequired()
  const attempt = { identifier: user.email ?? user.phone ?? user.id, address: given.address }
  const { matches } = await deps.passwords.verify(user.passwordHash, given.currentPassword)
  const isRight = matches && !(await isBlocked(deps, attempt))
  // A failure counts before the hook hears of it, whatever that says and however long it takes.
  if (!isRight) await recordFailure(deps, attempt)
  await judgePasswordAttempt(deps, user.id, isRight)
  if (isRight) return true
  throw currentPasswordInvalid()
}
