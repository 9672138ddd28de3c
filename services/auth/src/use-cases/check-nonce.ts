import type { Kysely } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { reauthenticationNotValid } from '../errors.ts'
import { codeMatches, hashCode } from '../one-time-tokens/one-time-token.ts'
import { claimGuess, hashGuessKey } from '../one-time-tokens/one-time-token-repository.ts'
import { isBlocked, recordFailure } from '../rate-limits/failed-attempts.ts'
import { PASSWORD_PROOF_MS } from '../sessions/proof-repository.ts'
import { findAddressChange } from '../users/address-change-repository.ts'
import type { User } from '../users/user.ts'
import type { UserIdentifier } from '../users/user-repository.ts'

/** A nonce that was right, still to be used up by `consumeToken`. */
export interface CheckedNonce {
  readonly id: string
  readonly codeHash: Buffer
}

/**
 * Where the nonce of a user goes (reference: GET /reauthenticate): their email, else their phone. Where a new password
 * needs it, an address that the user has changed within a day is left out: whoever has stolen the session may have done
 * that.
 * @returns undefined where no address is left
 */
export async function findNonceAddress(
  db: Kysely<AuthDatabase>,
  { config, now }: Pick<AuthDeps, 'config' | 'now'>,
  user: User,
): Promise<UserIdentifier | undefined> {
  for (const kind of ['email', 'phone'] as const) {
    const value = user[kind]
    if (value === null) continue
    if (!config.security.reauthenticateForPassword) return { kind, value }
    const changedAt = await findAddressChange(db, user.id, kind)
    if (changedAt === undefined || now().getTime() - Date.parse(changedAt) >= PASSWORD_PROOF_MS) return { kind, value }
  }
  return undefined
}

/**
 * Compares the nonce of a reauthentication (reference: Change of password). A guess is counted before it is compared,
 * and failures count like wrong passwords. @param address the client's @throws reauthenticationNotValid
 */
export async function checkNonce(
  deps: Pick<AuthDeps, 'config' | 'db' | 'now' | 'rateLimits' | 'serverKeys'>,
  user: User,
  { nonce, address }: { readonly nonce: string; readonly address: string },
): Promise<CheckedNonce> {
  const identifier = (await findNonceAddress(deps.db, deps, user))?.value ?? user.id
  const attempt = { identifier, address }
  const blocked = await isBlocked(deps, attempt)
  const wanted = { audience: user.aud, relatesTo: identifier, kinds: ['reauthentication'] } as const
  const keyHash = hashGuessKey(deps.serverKeys.hmac, wanted)
  const guess = { ...wanted, keyHash, now: deps.now(), network: undefined }
  const tokens = await claimGuess(deps.db, guess, blocked ? 0 : deps.config.security.codeAttemptsMax)
  for (const { id, userId, codeHash, codeSalt, expiresAt } of tokens) {
    const isAlive = userId === user.id && Date.parse(expiresAt) > deps.now().getTime()
    if (blocked || !isAlive || codeHash === null || codeSalt === null) continue
    const matches = (key: Buffer) => codeMatches(codeHash, hashCode(key, codeSalt, identifier, nonce))
    if (deps.serverKeys.hmacs.some(matches)) return { id, codeHash }
  }
  await recordFailure(deps, attempt)
  throw reauthenticationNotValid()
}
