import type { Transaction } from 'kysely'
import { adminTraits } from '../audit/admin-traits.ts'
import { recordAudit } from '../audit/audit-log.ts'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { listIdentities, obscureIdentity } from '../identities/identity-repository.ts'
import type { Admin } from '../sessions/admin.ts'
import { obscure, obscurePhone } from '../users/obscured.ts'
import type { User } from '../users/user.ts'
import { deleteBelongings, deleteUser, updateUser } from '../users/user-repository.ts'
import { lockManagedUser, type ManagedUser } from './lock-managed-user.ts'

export interface DeleteUser extends ManagedUser {
  readonly admin: Admin
  /** `soft` keeps the row, without anything that tells who it was; `hard` removes it. */
  readonly manner: 'soft' | 'hard'
  /** For the audit trail. */
  readonly ip: string
}

/** Deletes a user (reference: Deletion). @throws userNotFound */
export async function deleteUserAsAdmin(deps: AuthDeps, { admin, manner, ip, ...managed }: DeleteUser): Promise<void> {
  await deps.db.transaction().execute(async (trx) => {
    const user = await lockManagedUser(trx, managed)
    if (manner === 'hard') await deleteUser(trx, user.id)
    else if (user.deletedAt !== null) return
    else await obscureUser(trx, user, deps.now())
    const traits = adminTraits(user)
    await recordAudit(trx, deps, { action: 'user_deleted', actor: admin.actor, target: user, ip, traits })
  })
}

async function obscureUser(trx: Transaction<AuthDatabase>, user: User, at: Date): Promise<void> {
  const { id } = user
  await deleteBelongings(trx, id)
  for (const identity of await listIdentities(trx, id)) {
    await obscureIdentity(trx, { id: identity.id, providerId: obscure(id, identity.providerId) }, at)
  }
  await updateUser(trx, id, {
    email: obscure(id, user.email),
    phone: obscurePhone(id, user.phone),
    email_change: obscure(id, user.emailChange) ?? '',
    phone_change: obscurePhone(id, user.phoneChange) ?? '',
    encrypted_password: null,
    raw_app_meta_data: {},
    raw_user_meta_data: {},
    deleted_at: at,
    updated_at: at,
  })
}
