import { recordAudit } from '../audit/audit-log.ts'
import type { AuthDeps } from '../deps.ts'
import { notify } from '../messages/notification.ts'
import { deletePasskey } from '../passkeys/passkey-repository.ts'
import { lockCaller } from '../sessions/active-caller.ts'
import { requirePasskeyOwner } from '../sessions/require-owner.ts'
import type { TokenUser } from '../sessions/token-user.ts'

type DeleteOwnPasskeyDeps = Pick<AuthDeps, 'config' | 'db' | 'logger' | 'now' | 'jobs'>

/** A passkey, and the caller who deletes it. Only a passkey of the caller is found. */
export interface DeleteOwnPasskeyInput {
  readonly caller: TokenUser
  readonly passkeyId: string
  /** The client's address, for the audit log. */
  readonly ip: string
}

/**
 * Deletes a passkey of the caller.
 * @throws passkeyNotFound, tokenUserNotFound, userBanned, sessionNotFound, anonymousNotAllowed, passkeysNeedSecondFactor,
 * signInTooOld
 */
export async function deleteOwnPasskey(
  deps: DeleteOwnPasskeyDeps,
  { caller, passkeyId, ip }: DeleteOwnPasskeyInput,
): Promise<void> {
  await deps.db.transaction().execute(async (trx) => {
    const { user, session } = await requirePasskeyOwner(trx, deps, await lockCaller(trx, deps, caller))
    await deletePasskey(trx, { userId: user.id, passkeyId })
    await notify(trx, deps, user, { name: 'PASSKEY_REMOVED', variables: {} })
    const traits = { passkey_id: passkeyId }
    await recordAudit(trx, deps, { action: 'passkey_deleted', actor: user, sessionId: session.id, ip, traits })
  })
}
