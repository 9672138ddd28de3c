import { recordAudit } from '../audit/audit-log.ts'
import type { AuthDeps } from '../deps.ts'
import { namesUser, verifyAssertion } from '../passkeys/ceremony.ts'
import type { Assertion } from '../passkeys/credential.ts'
import { refusePasskey } from '../passkeys/passkey.ts'
import { findPasskeyByCredential, updatePasskeyUse } from '../passkeys/passkey-repository.ts'
import { requirePasskeyChallenge } from '../passkeys/require-passkey-challenge.ts'
import { createSession } from '../sessions/create-session.ts'
import type { SessionOrigin } from '../sessions/session.ts'
import { type SessionView, type SessionViewDeps, signNewSession } from '../sessions/session-view.ts'
import { requireNotBanned } from '../users/user.ts'
import { lockUserById } from '../users/user-repository.ts'

type FinishPasskeySignInDeps = SessionViewDeps & Pick<AuthDeps, 'config' | 'db' | 'logger' | 'now' | 'randomBytes'>

/** The answer of an authenticator to a challenge. */
export interface FinishPasskeySignInInput extends SessionOrigin {
  readonly challengeId: string
  readonly response: Assertion
}

/**
 * Signs in by passkey (reference: Passkeys). Answers an unknown passkey like one with a wrong signature.
 * @throws passkeyChallengeNotFound, passkeyChallengeExpired, passkeyRefused, userBanned, hookFailed, hookRejected, hookTimeout,
 * hookTimeoutAfterRetry, hookAnswerTooLong, hookAnswerNoJson
 */
export async function finishPasskeySignIn(
  deps: FinishPasskeySignInDeps,
  input: FinishPasskeySignInInput,
): Promise<SessionView> {
  const { challengeId, response, userAgent, ip } = input
  const challenge = await requirePasskeyChallenge(deps, { challengeId, userId: null })
  const passkey = await findPasskeyByCredential(deps.db, response.id)
  const used = passkey && (await verifyAssertion(deps, { response, challenge }, passkey.credential))
  if (!passkey || !used || !namesUser(response, passkey.userId)) refusePasskey()
  const session = await deps.db.transaction().execute(async (trx) => {
    const user = await lockUserById(trx, passkey.userId)
    if (!user || user.deletedAt !== null) refusePasskey()
    requireNotBanned(user, deps.now())
    if (!(await updatePasskeyUse(trx, { id: passkey.id, counter: used.counter, now: deps.now() }))) refusePasskey()
    await recordAudit(trx, deps, { action: 'login', actor: user, ip, traits: { provider: 'passkey' } })
    return createSession(trx, deps, user, { userAgent, ip, method: 'passkey', credentialSince: passkey.createdAt })
  })
  return signNewSession(deps, session)
}
