import { recordAudit } from '../audit/audit-log.ts'
import type { AuthDeps } from '../deps.ts'
import { passkeyExists, tooManyPasskeys } from '../factor-errors.ts'
import { askForCreation, verifyCreation } from '../passkeys/ceremony.ts'
import type { Registration } from '../passkeys/credential.ts'
import { type Passkey, refusePasskey } from '../passkeys/passkey.ts'
import { insertPasskeyChallenge, type PasskeyQuestion } from '../passkeys/passkey-challenge-repository.ts'
import { insertPasskey, listPasskeys } from '../passkeys/passkey-repository.ts'
import { requirePasskeyChallenge } from '../passkeys/require-passkey-challenge.ts'
import { findCaller, lockCaller } from '../sessions/active-caller.ts'
import type { Caller } from '../sessions/caller.ts'
import { requirePasskeyOwner } from '../sessions/require-owner.ts'

type RegisterPasskeyDeps = Pick<AuthDeps, 'config' | 'db' | 'logger' | 'now'>

/**
 * Makes the challenge for a new passkey (reference: Passkeys). Locks the user, so that no challenge is stored for an account that a
 * concurrent request deletes.
 * @throws tooManyPasskeys, tokenUserNotFound, userBanned, and what `requirePasskeyOwner` throws
 */
export async function askForPasskey(deps: RegisterPasskeyDeps, caller: Caller): Promise<PasskeyQuestion> {
  const { challengeLifetimeMs: timeoutMs } = deps.config.webauthn
  return deps.db.transaction().execute(async (trx) => {
    const { user } = await requirePasskeyOwner(trx, deps, await lockCaller(trx, deps, caller))
    const passkeys = await listPasskeys(trx, user.id)
    requireRoom(deps, passkeys)
    const request = await askForCreation(deps, {
      userId: user.id,
      account: user.email ?? user.phone ?? user.id,
      known: passkeys.map(({ credential }) => credential),
      residentKey: 'required',
      timeoutMs,
    })
    const expiresAt = new Date(deps.now().getTime() + timeoutMs)
    return insertPasskeyChallenge(trx, user.id, { ...request, expiresAt })
  })
}

/** The answer of an authenticator to a challenge of the caller. */
export interface RegisterPasskeyInput {
  readonly caller: Caller
  readonly challengeId: string
  readonly response: Registration
  /** The client's address, for the audit log. */
  readonly ip: string
}

const USUAL_NAME = 'Passkey'

/**
 * Registers the passkey that an authenticator has made. Checks the number of the user's passkeys under the user's lock.
 * @throws passkeyChallengeNotFound, passkeyChallengeExpired, passkeyRefused, tooManyPasskeys, passkeyExists,
 * and what `findCaller` and `requirePasskeyOwner` throw
 */
export async function registerPasskey(deps: RegisterPasskeyDeps, input: RegisterPasskeyInput): Promise<Passkey> {
  const { caller, challengeId, response, ip } = input
  const found = await requirePasskeyOwner(deps.db, deps, await findCaller(deps, caller))
  const challenge = await requirePasskeyChallenge(deps, { challengeId, userId: found.user.id })
  const credential = await verifyCreation(deps, response, challenge)
  if (!credential) refusePasskey()
  return deps.db.transaction().execute(async (trx) => {
    const { user, session } = await requirePasskeyOwner(trx, deps, await lockCaller(trx, deps, caller))
    requireRoom(deps, await listPasskeys(trx, user.id))
    const now = deps.now()
    const passkey = await insertPasskey(trx, { userId: user.id, friendlyName: USUAL_NAME, credential, now })
    if (!passkey) throw passkeyExists()
    const traits = { passkey_id: passkey.id }
    await recordAudit(trx, deps, { action: 'passkey_created', actor: user, sessionId: session.id, ip, traits })
    return passkey
  })
}

/** Requires that a user may have one more passkey. @throws tooManyPasskeys */
function requireRoom({ config }: Pick<AuthDeps, 'config'>, passkeys: readonly Passkey[]): void {
  if (passkeys.length >= config.webauthn.passkeysMax) throw tooManyPasskeys()
}
