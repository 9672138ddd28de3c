import type { AuthConfig } from '../config.ts'
import type { Db } from '../database.ts'
import { askForCreation, type CeremonyDeps } from '../passkeys/ceremony.ts'
import { type PasskeyQuestion, requireRoom } from '../passkeys/credential.ts'
import { insertPasskeyChallenge, listPasskeys } from '../passkeys/passkey-repository.ts'
import { type ActiveCallerDeps, lockCaller, requirePasskeyRegistrant } from '../sessions/active-caller.ts'
import type { TokenUser } from '../sessions/token-user.ts'

/** Creates a challenge (reference: Passkeys) under the user's lock, so that no concurrent request deletes the account. */
export async function startPasskeyRegistration(
  deps: ActiveCallerDeps & CeremonyDeps & { readonly config: AuthConfig; readonly db: Db },
  caller: TokenUser,
): Promise<PasskeyQuestion> {
  const { challengeLifetimeMs: timeoutMs } = deps.config.webauthn
  return deps.db.transaction().execute(async (trx) => {
    const { user, session } = await requirePasskeyRegistrant(trx, deps, await lockCaller(trx, deps, caller))
    const passkeys = await listPasskeys(trx, user.id)
    requireRoom(passkeys, deps.config.webauthn)
    const request = await askForCreation(deps, {
      userId: user.id,
      account: user.email ?? user.phone ?? user.id,
      known: passkeys.map(({ credential }) => credential),
      residentKey: 'required',
      timeoutMs,
    })
    const expiresAt = new Date(deps.now().getTime() + timeoutMs)
    return insertPasskeyChallenge(trx, { userId: user.id, sessionId: session.id }, { ...request, expiresAt })
  })
}
