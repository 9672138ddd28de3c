import type { Transaction } from 'kysely'
import { adminTraits } from '../audit/admin-traits.ts'
import { recordAudit } from '../audit/audit-log.ts'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { userNotFound } from '../errors.ts'
import { listIdentities, obscureIdentity } from '../identities/identity-repository.ts'
import type { Admin } from '../sessions/admin.ts'
import { obscure, obscurePhone } from '../users/obscured.ts'
import { isStaged, type User } from '../users/user.ts'
import { deleteBelongings, deleteUser, lockUserById, updateUser } from '../users/user-repository.ts'

export interface DeleteUser {
  readonly admin: Admin
  readonly userId: string
  /** `soft` keeps the row, without anything that tells who it was; `hard` removes it. */
  readonly manner: 'soft' | 'hard'
  /** For the audit trail. */
  readonly ip: string
}

/** Deletes a user (contract 6.1). @throws userNotFound */
export async function deleteUserAsAdmin(deps: AuthDeps, { admin, userId, manner, ip }: DeleteUser): Promise<void> {
  await deps.db.transaction().execute(async (trx) => {
    const user = await lockUserById(trx, userId)
    if (!user || isStaged(user)) throw userNotFound()
    if (manner === 'hard') await deleteUser(trx, userId)
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
    email_change: obscure(id, user.emailChange),
    phone_change: obscurePhone(id, user.phoneChange),
    encrypted_password: null,
    raw_app_meta_data: {},
    raw_user_meta_data: {},
    deleted_at: at,
    updated_at: at,
  })
}
