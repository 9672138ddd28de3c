import { recordAudit, UNKNOWN_ACTOR } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import type { Db } from '../database.ts'
import { type CeremonyDeps, namesUser, verifyAssertion } from '../passkeys/ceremony.ts'
import { type Assertion, type Passkey, refusePasskey, type StoredCredential } from '../passkeys/credential.ts'
import { findPasskeyByCredential, requirePasskeyChallenge, updatePasskeyUse } from '../passkeys/passkey-repository.ts'
import type { RandomBytes } from '../secrets/encrypted-secret.ts'
import { createSession } from '../sessions/create-session.ts'
import type { IssuedSession, SessionOrigin } from '../sessions/session.ts'
import { type SessionView, type SessionViewDeps, signNewSession } from '../sessions/session-view.ts'
import { requireNotBanned } from '../users/user.ts'
import { findUserById, lockUserById } from '../users/user-repository.ts'

type FinishPasskeySignInDeps = SessionViewDeps &
  CeremonyDeps & { readonly config: AuthConfig; readonly db: Db; readonly randomBytes: RandomBytes }

export interface FinishPasskeySignInInput extends SessionOrigin {
  readonly challengeId: string
  readonly response: Assertion
}

/** Signs in by passkey (reference: Passkeys). An unknown passkey gets the same answer and log line as a wrong signature. */
export async function finishPasskeySignIn(
  deps: FinishPasskeySignInDeps,
  input: FinishPasskeySignInInput,
): Promise<SessionView> {
  const { challengeId, response, ip } = input
  const challenge = await requirePasskeyChallenge(deps, { challengeId, userId: null })
  const passkey = await findPasskeyByCredential(deps.db, response.id)
  const used = passkey && (await verifyAssertion(deps, { response, challenge }, passkey.credential))
  const isGood = passkey && used && namesUser(response, passkey.userId)
  const session = isGood ? await beginSession(deps, input, passkey, used) : undefined
  if (session) return signNewSession(deps, session)
  const actor = (passkey && (await findUserById(deps.db, passkey.userId))) ?? UNKNOWN_ACTOR
  await recordAudit(deps.db, deps, { action: 'login_failed', actor, ip, traits: { provider: 'passkey' } })
  return refusePasskey()
}

/** @returns `undefined` if the passkey is deleted, or its counter shows a copy of it */
function beginSession(
  deps: FinishPasskeySignInDeps,
  { userAgent, ip }: SessionOrigin,
  { id, userId, createdAt }: Passkey,
  { counter }: StoredCredential,
): Promise<IssuedSession | undefined> {
  return deps.db.transaction().execute(async (trx) => {
    const user = await lockUserById(trx, userId)
    if (!user || user.deletedAt !== null) return undefined
    requireNotBanned(user, deps.now())
    if (!(await updatePasskeyUse(trx, { id, counter, now: deps.now() }))) return undefined
    await recordAudit(trx, deps, { action: 'login', actor: user, ip, traits: { provider: 'passkey' } })
    return createSession(trx, deps, user, { userAgent, ip, method: 'passkey', credentialSince: createdAt })
  })
}
