import { recordAudit } from '../audit/audit-log.ts'
import type { AuthDeps } from '../deps.ts'
import { deletePasskey } from '../passkeys/passkey-repository.ts'
import type { Admin } from '../sessions/admin.ts'
import { lockManagedUser, type ManagedUser } from '../users/user-repository.ts'

type DeletePasskeyDeps = Pick<AuthDeps, 'config' | 'db' | 'logger' | 'now'>

/** A passkey of a user, and the admin who deletes it. */
export interface DeletePasskeyAsAdminInput extends ManagedUser {
  readonly admin: Admin
  readonly passkeyId: string
  /** The client's address, for the audit log. */
  readonly ip: string
}

/** Deletes a passkey of a user. @throws userNotFound, consoleUserProtected, passkeyNotFound */
export async function deletePasskeyAsAdmin(
  deps: DeletePasskeyDeps,
  { admin, passkeyId, ip, ...managed }: DeletePasskeyAsAdminInput,
): Promise<void> {
  await deps.db.transaction().execute(async (trx) => {
    const user = await lockManagedUser(trx, managed, admin)
    await deletePasskey(trx, { userId: user.id, passkeyId })
    const traits = { user_id: user.id, passkey_id: passkeyId }
    await recordAudit(trx, deps, { action: 'passkey_deleted', actor: admin.actor, target: user, ip, traits })
  })
}
