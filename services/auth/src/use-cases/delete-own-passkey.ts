import { type AuditDeps, recordAudit } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import type { Db } from '../database.ts'
import { type NotifyDeps, notify } from '../messages/notification.ts'
import { deletePasskey } from '../passkeys/passkey-repository.ts'
import { lockCaller, requirePasskeyOwner } from '../sessions/active-caller.ts'
import type { TokenUser } from '../sessions/token-user.ts'

/**
 * Deletes a passkey of the caller.
 * @throws passkeyNotFound, tokenUserNotFound, userBanned, sessionNotFound, anonymousNotAllowed, passkeysNeedSecondFactor,
 * signInTooOld
 */
export async function deleteOwnPasskey(
  deps: AuditDeps & NotifyDeps & { readonly config: AuthConfig; readonly db: Db },
  { caller, passkeyId, ip }: { readonly caller: TokenUser; readonly passkeyId: string; readonly ip: string },
): Promise<void> {
  await deps.db.transaction().execute(async (trx) => {
    const { user, session } = await requirePasskeyOwner(trx, deps, await lockCaller(trx, deps, caller))
    await deletePasskey(trx, { userId: user.id, passkeyId })
    await notify(trx, deps, user, { name: 'PASSKEY_REMOVED', variables: {} })
    const traits = { passkey_id: passkeyId }
    await recordAudit(trx, deps, { action: 'passkey_deleted', actor: user, sessionId: session.id, ip, traits })
  })
}
