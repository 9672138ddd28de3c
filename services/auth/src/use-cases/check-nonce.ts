import type { AuthDeps } from '../deps.ts'
import { reauthenticationNotValid } from '../errors.ts'
import { codeMatches, hashCode } from '../one-time-tokens/one-time-token.ts'
import { claimGuess } from '../one-time-tokens/one-time-token-repository.ts'
import { isBlocked, recordFailure } from '../rate-limits/failed-attempts.ts'
import type { User } from '../users/user.ts'

/** A nonce that was right, still to be used up by `consumeToken`. */
export interface CheckedNonce {
  readonly id: string
  readonly codeHash: Buffer
}

/** Where the nonce of a user goes (contract 4.6): their email, else their phone. */
function nonceAddress({ email, phone }: Pick<User, 'email' | 'phone'>): string | null {
  return email ?? phone
}

/**
 * Compares the nonce of a reauthentication (contract 7.9). A guess is counted before it is compared, and failures count
 * like wrong passwords. @param address the client's @throws reauthenticationNotValid
 */
export async function checkNonce(
  deps: Pick<AuthDeps, 'config' | 'db' | 'now' | 'rateLimits' | 'serverKeys'>,
  user: User,
  { nonce, address }: { readonly nonce: string; readonly address: string },
): Promise<CheckedNonce> {
  const identifier = nonceAddress(user) ?? user.id
  const attempt = { identifier, address }
  const blocked = await isBlocked(deps, attempt)
  const tokens = await claimGuess(
    deps.db,
    { audience: user.aud, relatesTo: identifier, kinds: ['reauthentication'] },
    deps.config.security.codeAttemptsMax,
  )
  for (const { id, userId, codeHash, codeSalt, expiresAt } of tokens) {
    const isAlive = userId === user.id && Date.parse(expiresAt) > deps.now().getTime()
    if (blocked || !isAlive || codeHash === null || codeSalt === null) continue
    const matches = (key: Buffer) => codeMatches(codeHash, hashCode(key, codeSalt, identifier, nonce))
    if (deps.serverKeys.hmacs.some(matches)) return { id, codeHash }
  }
  await recordFailure(deps, attempt)
  throw reauthenticationNotValid()
}
