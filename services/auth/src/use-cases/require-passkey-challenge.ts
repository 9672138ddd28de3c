import type { AuthDeps } from '../deps.ts'
import { passkeyChallengeExpired, passkeyChallengeNotFound } from '../factor-errors.ts'
import { takePasskeyChallenge } from '../passkeys/passkey-challenge-repository.ts'
import { parseId } from '../users/require-id.ts'

/** Takes the challenge that a request answers. @throws passkeyChallengeNotFound, passkeyChallengeExpired */
export async function requirePasskeyChallenge(
  { db, now }: Pick<AuthDeps, 'db' | 'now'>,
  { challengeId, userId }: { readonly challengeId: string; readonly userId: string | null },
): Promise<string> {
  const id = parseId(challengeId)
  const taken = id === undefined ? undefined : await takePasskeyChallenge(db, { id, userId, now: now() })
  if (!taken) throw passkeyChallengeNotFound()
  if (taken.isExpired) throw passkeyChallengeExpired()
  return taken.challenge
}
