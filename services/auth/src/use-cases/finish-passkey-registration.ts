import { type AuditDeps, recordAudit } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import type { Db } from '../database.ts'
import { passkeyExists } from '../factor-errors.ts'
import { type NotifyDeps, notify } from '../messages/mail-job.ts'
import { type CeremonyDeps, verifyCreation } from '../passkeys/ceremony.ts'
import { type Passkey, type Registration, refusePasskey, requireRoom } from '../passkeys/credential.ts'
import { insertPasskey, listPasskeys, requirePasskeyChallenge } from '../passkeys/passkey-repository.ts'
import { findCaller, lockCaller, requirePasskeyRegistrant } from '../sessions/active-caller.ts'
import type { TokenUser } from '../sessions/token-user.ts'

const USUAL_NAME = 'Passkey'

/** Registers a passkey (reference: Passkeys). Counts passkeys under the user's lock, so the limit cannot be exceeded. */
export async function finishPasskeyRegistration(
  deps: AuditDeps & CeremonyDeps & NotifyDeps & { readonly config: AuthConfig; readonly db: Db },
  input: {
    readonly caller: TokenUser
    readonly challengeId: string
    readonly response: Registration
    readonly ip: string
  },
): Promise<Passkey> {
  const { caller, challengeId, response, ip } = input
  const found = await requirePasskeyRegistrant(deps.db, deps, await findCaller(deps, caller))
  const challenge = await requirePasskeyChallenge(deps, { challengeId, userId: found.user.id })
  const credential = await verifyCreation(deps, response, challenge)
  if (!credential) refusePasskey()
  return deps.db.transaction().execute(async (trx) => {
    const { user, session } = await requirePasskeyRegistrant(trx, deps, await lockCaller(trx, deps, caller))
    requireRoom(await listPasskeys(trx, user.id), deps.config.webauthn)
    const now = deps.now()
    const owner = { userId: user.id, sessionId: session.id }
    const passkey = await insertPasskey(trx, { ...owner, friendlyName: USUAL_NAME, credential, now })
    if (!passkey) throw passkeyExists()
    await notify(trx, deps, user, { name: 'PASSKEY_ADDED', variables: {} })
    const traits = { passkey_id: passkey.id }
    await recordAudit(trx, deps, { action: 'passkey_created', actor: user, sessionId: session.id, ip, traits })
    return passkey
  })
}
