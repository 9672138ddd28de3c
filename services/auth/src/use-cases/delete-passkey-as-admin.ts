import { type AuditDeps, recordAudit } from '../audit/audit-log.ts'
import type { Db } from '../database.ts'
import { deletePasskey } from '../passkeys/passkey-repository.ts'
import type { Admin } from '../sessions/admin.ts'
import { lockManagedUser, type ManagedUser } from '../users/user-repository.ts'

export interface DeletePasskeyAsAdminInput extends ManagedUser {
  readonly admin: Admin
  readonly passkeyId: string
  readonly ip: string
}

export async function deletePasskeyAsAdmin(
  deps: AuditDeps & { readonly db: Db },
  { admin, passkeyId, ip, ...managed }: DeletePasskeyAsAdminInput,
): Promise<void> {
  await deps.db.transaction().execute(async (trx) => {
    const user = await lockManagedUser(trx, managed, admin)
    await deletePasskey(trx, { userId: user.id, passkeyId })
    const traits = { user_id: user.id, passkey_id: passkeyId }
    await recordAudit(trx, deps, { action: 'passkey_deleted', actor: admin.actor, target: user, ip, traits })
  })
}
