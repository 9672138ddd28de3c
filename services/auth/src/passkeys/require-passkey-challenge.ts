import type { Db } from '../database.ts'
import { passkeyChallengeExpired, passkeyChallengeNotFound } from '../factor-errors.ts'
import { parseId } from '../records/ids.ts'
import { claimPasskeyChallenge } from './passkey-challenge-repository.ts'

/**
 * Takes the challenge that a request answers. It can be answered once.
 * @throws passkeyChallengeNotFound, passkeyChallengeExpired
 */
export async function requirePasskeyChallenge(
  { db, now }: { readonly db: Db; readonly now: () => Date },
  { challengeId, userId }: { readonly challengeId: string; readonly userId: string | null },
): Promise<string> {
  const id = parseId(challengeId)
  const claimed = id === undefined ? undefined : await claimPasskeyChallenge(db, { id, userId, now: now() })
  if (!claimed) throw passkeyChallengeNotFound()
  if (claimed.isExpired) throw passkeyChallengeExpired()
  return claimed.challenge
}
