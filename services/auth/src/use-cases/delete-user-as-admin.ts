import { hash } from 'node:crypto'
import { transactAgain } from '@trestle/database/again-when-lost.ts'
import { type AuditDeps, adminTraits, type RunWork, recordAudit } from '../audit/audit-log.ts'
import type { Db, Trx } from '../database.ts'
import { listIdentities, updateDeletedIdentity } from '../identities/identity-repository.ts'
import type { Admin } from '../sessions/admin.ts'
import type { User } from '../users/user.ts'
import { deleteBelongings, deleteUser, updateUser } from '../users/user-change-repository.ts'
import { lockManagedUser, type ManagedUser } from '../users/user-repository.ts'

/** A user, and how an admin deletes them. */
export interface DeleteUserAsAdminInput extends ManagedUser {
  readonly admin: Admin
  /** `soft` keeps the row, without any data that identifies the user; `hard` removes it. */
  readonly manner: 'soft' | 'hard'
  readonly ip: string
}

/**
 * Deletes a user (reference: Deletion).
 * @param runWork runs the work in the transaction, and makes the answer of its result
 * @throws userNotFound, consoleUserProtected
 */
export async function deleteUserAsAdmin<Answer>(
  deps: AuditDeps & { readonly db: Db },
  { admin, manner, ip, ...managed }: DeleteUserAsAdminInput,
  runWork: RunWork<void, Answer>,
): Promise<Answer> {
  return transactAgain(deps.db, (trx) =>
    runWork(trx, deps, async () => {
      const user = await lockManagedUser(trx, managed, admin)
      if (manner === 'hard') await deleteUser(trx, user.id)
      else if (user.deletedAt !== null) return
      else await anonymiseUser(trx, user, deps.now())
      const traits = adminTraits(user)
      await recordAudit(trx, deps, { action: 'user_deleted', actor: admin.actor, target: user, ip, traits })
    }),
  )
}

async function anonymiseUser(trx: Trx, user: User, at: Date): Promise<void> {
  const { id } = user
  await deleteBelongings(trx, id)
  for (const identity of await listIdentities(trx, id)) {
    await updateDeletedIdentity(trx, { id: identity.id, providerId: hashAddress(id, identity.providerId) }, at)
  }
  await updateUser(trx, id, {
    email: hashAddress(id, user.email),
    phone: hashPhone(id, user.phone),
    email_change: hashAddress(id, user.emailChange) ?? '',
    phone_change: hashPhone(id, user.phoneChange) ?? '',
    encrypted_password: null,
    raw_app_meta_data: {},
    raw_user_meta_data: {},
    chosen_metadata: null,
    deleted_at: at,
    updated_at: at,
  })
}

/** The length of the longest phone number. */
const PHONE_LENGTH = 15

/**
 * Hashes an address, or the subject at a provider, of a deleted user whose row is kept. The hash reveals nothing and frees the
 * address for other users (reference: Deletion). Null stays null.
 */
function hashAddress(userId: string, value: string): string
function hashAddress(userId: string, value: string | null): string | null
function hashAddress(userId: string, value: string | null): string | null {
  return value === null ? null : hash('sha256', `${userId}${value}`, 'base64url')
}

function hashPhone(userId: string, value: string | null): string | null {
  return hashAddress(userId, value)?.slice(0, PHONE_LENGTH) ?? null
}
