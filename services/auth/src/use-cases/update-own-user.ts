import type { Transaction } from 'kysely'
import { changeOwnAddresses, type OwnAddresses, takeOwnMessages } from '../address-changes/request-address-change.ts'
import { recordAudit } from '../audit/audit-log.ts'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { appMetadataForAdmins, currentPasswordInvalid, reauthenticationNotValid } from '../errors.ts'
import { deleteFinishedFlows } from '../flows/flow-repository.ts'
import { notify } from '../messages/notification.ts'
import { consumeToken, deleteTokensOfUser } from '../one-time-tokens/one-time-token-repository.ts'
import { deletePendingChanges } from '../one-time-tokens/pending-change-repository.ts'
import type { RequestContext } from '../request-context.ts'
import { type ActiveCaller, findCaller, lockCaller } from '../sessions/active-caller.ts'
import type { Caller } from '../sessions/caller.ts'
import { type PreparedPassword, preparePassword } from '../sessions/new-password.ts'
import { deleteSessionsOfUser } from '../sessions/session-repository.ts'
import { TAKEN_FOR_USER, withUniqueIdentifiers } from '../users/claim-identifier.ts'
import { mergeMetadata } from '../users/metadata.ts'
import { getProfile, type Profile } from '../users/profile-repository.ts'
import { updateUser } from '../users/user-change-repository.ts'
import { judgeOwnChanges } from './judge-own-changes.ts'

/** What a user wants of their own account. Undefined members stay as they are. */
export interface OwnChanges extends OwnAddresses {
  readonly password: string | undefined
  readonly currentPassword: string | undefined
  readonly nonce: string | undefined
  readonly data: Readonly<Record<string, unknown>> | undefined
  /** For callers with an admin's role. */
  readonly appMetadata: Readonly<Record<string, unknown>> | undefined
}

export interface UpdateOwnUser {
  readonly caller: Caller
  readonly changes: OwnChanges
  readonly context: RequestContext
}

/**
 * Changes the caller's own account (reference: PUT /user). Everything is judged before anything is hashed or counted;
 * then one transaction does it all, under the user's lock, or nothing of it.
 */
export async function updateOwnUser(deps: AuthDeps, { caller, changes, context }: UpdateOwnUser): Promise<Profile> {
  const { password, nonce, currentPassword } = changes
  const found = await findCaller(deps, caller)
  if (changes.appMetadata && !isStillAdmin(deps, caller, found)) throw appMetadataForAdmins()
  await judgeOwnChanges(deps, found, changes)
  const { address } = context
  const prepared =
    password === undefined
      ? undefined
      : await preparePassword(deps, found, { password, nonce, currentPassword, address })
  const allowance = await takeOwnMessages(deps, found.user, changes, context.limitKey)
  try {
    return await withUniqueIdentifiers(deps, TAKEN_FOR_USER, async (trx) => {
      const active = await lockCaller(trx, deps, caller)
      // Hashing takes its time: meanwhile the same session may have enrolled a factor, or replaced the password.
      await judgeOwnChanges({ ...deps, db: trx }, active, changes)
      if (prepared?.shownHash !== undefined && prepared.shownHash !== active.user.passwordHash)
        throw currentPasswordInvalid()
      await change(trx, deps, active, { changes, context, prepared })
      return getProfile(trx, caller.userId)
    })
  } catch (error) {
    await allowance.giveBack()
    throw error
  }
}

/**
 * A token of a session may say a role that its user has no longer. An operator's own token has no session, and where the hook
 * CUSTOM_ACCESS_TOKEN is on, the role may be its work.
 */
function isStillAdmin({ config, hooks }: Pick<AuthDeps, 'config' | 'hooks'>, caller: Caller, { user }: ActiveCaller) {
  if (!caller.isAdmin || caller.sessionId === null || hooks.isOn('CUSTOM_ACCESS_TOKEN')) return caller.isAdmin
  return config.jwt.adminRoles.includes(user.role)
}

interface Change {
  readonly changes: OwnChanges
  readonly context: RequestContext
  readonly prepared: PreparedPassword | undefined
}

async function change(
  trx: Transaction<AuthDatabase>,
  deps: AuthDeps,
  active: ActiveCaller,
  { changes, context, prepared }: Change,
): Promise<void> {
  const { user } = active
  const { data, appMetadata } = changes
  if (prepared) await changePassword(trx, deps, active, { prepared, ip: context.ip })
  const current = await updateUser(trx, user.id, {
    updated_at: deps.now(),
    ...(data && { raw_user_meta_data: mergeMetadata(user.userMetadata, data) }),
    ...(appMetadata && { raw_app_meta_data: mergeMetadata(user.appMetadata, appMetadata) }),
  })
  await changeOwnAddresses(trx, deps, current, { changes, context })
  await recordAudit(trx, deps, { action: 'user_modified', actor: user, ip: context.ip })
}

/**
 * A new password ends all other sessions, and every message, auth code and change of address of before
 * (reference: Change of password).
 */
async function changePassword(
  trx: Transaction<AuthDatabase>,
  deps: AuthDeps,
  { user, session }: ActiveCaller,
  { prepared, ip }: { readonly prepared: PreparedPassword; readonly ip: string },
): Promise<void> {
  const { hash, nonce } = prepared
  if (nonce && !(await consumeToken(trx, nonce, nonce))) throw reauthenticationNotValid()
  await updateUser(trx, user.id, { encrypted_password: hash, updated_at: deps.now() })
  await deleteSessionsOfUser(trx, user.id, session?.id)
  await deleteTokensOfUser(trx, user.id)
  await deletePendingChanges(trx, user.id)
  await deleteFinishedFlows(trx, user.id)
  await notify(trx, deps, user, { name: 'PASSWORD_CHANGED', variables: {} })
  await recordAudit(trx, deps, { action: 'user_updated_password', actor: user, ip })
}
