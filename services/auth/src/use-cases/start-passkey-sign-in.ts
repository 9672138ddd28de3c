import type { AuthConfig } from '../config.ts'
import type { Db } from '../database.ts'
import { askForAssertion, type CeremonyDeps } from '../passkeys/ceremony.ts'
import { insertPasskeyChallenge, type PasskeyQuestion } from '../passkeys/passkey-repository.ts'

/**
 * Makes the challenge for a sign-in by passkey (reference: Passkeys). It names no account, so it does not reveal who has one.
 * @throws Error when the settings name no relying party
 */
export async function startPasskeySignIn(
  deps: CeremonyDeps & { readonly config: AuthConfig; readonly db: Db; readonly now: () => Date },
): Promise<PasskeyQuestion> {
  const timeoutMs = deps.config.webauthn.challengeLifetimeMs
  const request = await askForAssertion(deps, { known: [], timeoutMs })
  const expiresAt = new Date(deps.now().getTime() + timeoutMs)
  return insertPasskeyChallenge(deps.db, null, { ...request, expiresAt })
}
