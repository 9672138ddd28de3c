import { recordAudit } from '../audit/audit-log.ts'
import type { AuthDeps } from '../deps.ts'
import type { Passkey } from '../passkeys/passkey.ts'
import { deletePasskey, listPasskeys, updatePasskeyName } from '../passkeys/passkey-repository.ts'
import { findCaller, lockCaller } from '../sessions/active-caller.ts'
import type { Admin } from '../sessions/admin.ts'
import type { Caller } from '../sessions/caller.ts'
import { requireFactorOwner, requirePasskeyOwner } from '../sessions/require-owner.ts'
import { lockManagedUser, type ManagedUser } from '../users/user-repository.ts'

type ChangePasskeyDeps = Pick<AuthDeps, 'config' | 'db' | 'logger' | 'now'>

/** A passkey, and the caller who changes it. Only a passkey of the caller is found. */
export interface OwnPasskey {
  readonly caller: Caller
  readonly passkeyId: string
  /** The client's address, for the audit log. */
  readonly ip: string
}

/** Lists the caller's passkeys. @throws sessionNotFound, anonymousNotAllowed, tokenUserNotFound, userBanned */
export async function listOwnPasskeys(
  deps: Pick<AuthDeps, 'config' | 'db' | 'now'>,
  caller: Caller,
): Promise<readonly Passkey[]> {
  const { user } = requireFactorOwner(await findCaller(deps, caller))
  return listPasskeys(deps.db, user.id)
}

/**
 * Renames a passkey of the caller.
 * @throws passkeyNotFound, tokenUserNotFound, userBanned, and what `requirePasskeyOwner` throws
 */
export async function renameOwnPasskey(
  deps: ChangePasskeyDeps,
  { caller, passkeyId, ip }: OwnPasskey,
  friendlyName: string,
): Promise<Passkey> {
  return deps.db.transaction().execute(async (trx) => {
    const { user, session } = await requirePasskeyOwner(trx, deps, await lockCaller(trx, deps, caller))
    const changes = { friendlyName, now: deps.now() }
    const passkey = await updatePasskeyName(trx, { userId: user.id, passkeyId }, changes)
    const traits = { passkey_id: passkeyId }
    await recordAudit(trx, deps, { action: 'passkey_updated', actor: user, sessionId: session.id, ip, traits })
    return passkey
  })
}

/**
 * Deletes a passkey of the caller.
 * @throws passkeyNotFound, tokenUserNotFound, userBanned, and what `requirePasskeyOwner` throws
 */
export async function deleteOwnPasskey(deps: ChangePasskeyDeps, { caller, passkeyId, ip }: OwnPasskey): Promise<void> {
  await deps.db.transaction().execute(async (trx) => {
    const { user, session } = await requirePasskeyOwner(trx, deps, await lockCaller(trx, deps, caller))
    await deletePasskey(trx, { userId: user.id, passkeyId })
    const traits = { passkey_id: passkeyId }
    await recordAudit(trx, deps, { action: 'passkey_deleted', actor: user, sessionId: session.id, ip, traits })
  })
}

/** A passkey of a user, and the admin who deletes it. */
export interface ManagedPasskey extends ManagedUser {
  readonly admin: Admin
  readonly passkeyId: string
  /** The client's address, for the audit log. */
  readonly ip: string
}

/** Deletes a passkey of a user. @throws userNotFound, passkeyNotFound */
export async function deletePasskeyAsAdmin(
  deps: ChangePasskeyDeps,
  { admin, passkeyId, ip, ...managed }: ManagedPasskey,
): Promise<void> {
  await deps.db.transaction().execute(async (trx) => {
    const user = await lockManagedUser(trx, managed)
    await deletePasskey(trx, { userId: user.id, passkeyId })
    const traits = { user_id: user.id, passkey_id: passkeyId }
    await recordAudit(trx, deps, { action: 'passkey_deleted', actor: admin.actor, target: user, ip, traits })
  })
}
