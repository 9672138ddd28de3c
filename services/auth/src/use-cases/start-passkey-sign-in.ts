import type { AuthConfig } from '../config.ts'
import type { Db } from '../database.ts'
import { askForAssertion, type CeremonyDeps } from '../passkeys/ceremony.ts'
import type { PasskeyQuestion } from '../passkeys/credential.ts'
import { insertPasskeyChallenge } from '../passkeys/passkey-repository.ts'

/** Creates a challenge without an account, so that it does not reveal who has a passkey (reference: Passkeys). */
export async function startPasskeySignIn(
  deps: CeremonyDeps & { readonly config: AuthConfig; readonly db: Db; readonly now: () => Date },
): Promise<PasskeyQuestion> {
  const timeoutMs = deps.config.webauthn.challengeLifetimeMs
  const request = await askForAssertion(deps, { known: [], timeoutMs })
  const expiresAt = new Date(deps.now().getTime() + timeoutMs)
  return insertPasskeyChallenge(deps.db, null, { ...request, expiresAt })
}
