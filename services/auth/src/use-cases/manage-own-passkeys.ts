import { type AuditDeps, recordAudit } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import type { Db } from '../database.ts'
import { friendlyNameMissing } from '../factor-errors.ts'
import { type NotifyDeps, notify } from '../messages/mail-job.ts'
import type { Passkey } from '../passkeys/credential.ts'
import { deletePasskey, listPasskeys, updatePasskeyName } from '../passkeys/passkey-repository.ts'
import {
  type ActiveCallerDeps,
  findCaller,
  lockCaller,
  requireFactorOwner,
  requirePasskeyOwner,
} from '../sessions/active-caller.ts'
import type { TokenUser } from '../sessions/token-user.ts'

export async function renameOwnPasskey(
  deps: AuditDeps & { readonly config: AuthConfig; readonly db: Db },
  {
    caller,
    passkeyId,
    friendlyName,
    ip,
  }: { readonly caller: TokenUser; readonly passkeyId: string; readonly friendlyName: string; readonly ip: string },
): Promise<Passkey> {
  if (friendlyName === '') throw friendlyNameMissing()
  return deps.db.transaction().execute(async (trx) => {
    const { user, session } = await requirePasskeyOwner(trx, deps, await lockCaller(trx, deps, caller))
    const changes = { friendlyName, now: deps.now() }
    const passkey = await updatePasskeyName(trx, { userId: user.id, passkeyId }, changes)
    const traits = { passkey_id: passkeyId }
    await recordAudit(trx, deps, { action: 'passkey_updated', actor: user, sessionId: session.id, ip, traits })
    return passkey
  })
}

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

/** Lists the caller's passkeys, sorted by id (reference: Passkeys). */
export async function listOwnPasskeys(
  deps: ActiveCallerDeps & { readonly db: Db },
  caller: TokenUser,
): Promise<readonly Passkey[]> {
  const { user } = requireFactorOwner(await findCaller(deps, caller))
  return listPasskeys(deps.db, user.id)
}
