import { type AuditDeps, recordAudit } from '../audit/audit-log.ts'
import type { Db, Trx } from '../database.ts'
import { reauthenticationNotValid } from '../errors.ts'
import { matchesCode } from '../one-time-tokens/one-time-token.ts'
import { claimToken, countGuess, hashGuessKey } from '../one-time-tokens/one-time-token-repository.ts'
import { type FailedCheckDeps, isBlocked, recordFailedCheck } from '../rate-limits/failed-checks.ts'
import type { UserIdentifier } from '../requests/identifier.ts'
import { readCode } from '../requests/typed-code.ts'
import type { ServerKeys } from '../secrets/server-key.ts'
import type { User } from '../users/user.ts'
import { findAddressChange } from '../users/user-change-repository.ts'
import { PASSWORD_PROOF_MS } from './proof-repository.ts'

/** The dependencies of nonces. `codeAttemptsMax` is the number of wrong guesses after which a nonce is dead. */
export interface NonceDeps extends FailedCheckDeps, AuditDeps {
  readonly config: AuditDeps['config'] & {
    readonly security: { readonly reauthenticateForPassword: boolean; readonly codeAttemptsMax: number }
  }
  readonly db: Db
  readonly now: () => Date
  readonly serverKeys: ServerKeys
}

/** A nonce that was right. `consumeNonce` has yet to use it up. */
export interface CheckedNonce {
  readonly id: string
  readonly codeHash: Buffer
}

/**
 * Finds the address that gets the nonce of a user (reference: GET /reauthenticate): their email, else their phone. Where a new
 * password needs a nonce, an address that was changed within a day does not count: a thief of the session may have changed it.
 * Undefined where no address counts.
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
    if (changedAt === undefined || now().getTime() - Date.parse(changedAt) >= PASSWORD_PROOF_MS) return { kind, value }
  }
  return undefined
}

/**
 * Verifies the nonce of a reauthentication (reference: Change of password). A guess is counted before it is compared, and a
 * wrong one is a failed check as a wrong password is. @param ip the client's address @throws reauthenticationNotValid
 */
export async function checkNonce(
  deps: NonceDeps,
  user: User,
  { nonce, ip }: { readonly nonce: string; readonly ip: string },
): Promise<CheckedNonce> {
  const identifier = (await findNonceAddress(deps.db, deps, user))?.value ?? user.id
  const check = { identifier, client: ip }
  const blocked = await isBlocked(deps, check)
  const wanted = { audience: user.audience, identifier, kinds: ['reauthentication'] } as const
  const keyHash = hashGuessKey(deps.serverKeys.hmac, wanted)
  const guess = { ...wanted, keyHash, now: deps.now(), network: undefined }
  const tokens = await countGuess(deps.db, guess, blocked ? 0 : deps.config.security.codeAttemptsMax)
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

/** Uses a nonce up. A concurrent request may have done that since the check. @throws reauthenticationNotValid */
export async function consumeNonce(trx: Trx, nonce: CheckedNonce): Promise<void> {
  if (!(await claimToken(trx, nonce))) refuseNonce()
}

/** Refuses a nonce that is wrong, too old or used up. @throws reauthenticationNotValid */
function refuseNonce(): never {
  throw reauthenticationNotValid()
}
