import type { Pools } from '@trestle/database/pools.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import {
  changeOwnAddresses,
  findNewAddress,
  type MessageAllowanceDeps,
  type OwnAddresses,
  takeMessageAllowances,
} from '../address-changes/request-address-change.ts'
import { recordAudit } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import type { Db, Trx } from '../database.ts'
import { anonymousPassword, appMetadataForAdmins, audienceMismatch } from '../errors.ts'
import { callEndSessionWork } from '../flows/flow-repository.ts'
import { type HookedDeps, type Repeatable, runHooked } from '../messages/hooked-transaction.ts'
import { notify } from '../messages/mail-job.ts'
import { deleteTokensOfUser } from '../one-time-tokens/one-time-token-repository.ts'
import type { RequestContext } from '../requests/request-context.ts'
import { type ActiveCaller, findCaller, lockCaller, refuseLostUser } from '../sessions/active-caller.ts'
import {
  consumeNonce,
  type NewPasswordDeps,
  type PreparedPassword,
  preparePassword,
  requireGuardedChange,
  requireShownPassword,
} from '../sessions/new-password.ts'
import { requireSession } from '../sessions/session.ts'
import { deleteSessionsOfUser } from '../sessions/session-repository.ts'
import { callerAudience, type TokenUser } from '../sessions/token-user.ts'
import { refuseTaken, requireNewIdentifier, withUniqueIdentifiers } from '../users/claim-identifier.ts'
import { requireOwnConsoleRole } from '../users/metadata.ts'
import { findOwnUser, getProfile, type Profile } from '../users/profile-repository.ts'
import { readWantedPhone } from '../users/require-phone.ts'
import { changedColumns, refuseBanned, type User, type UserChanges } from '../users/user.ts'
import { passwordChange, rememberChosen, updateUser } from '../users/user-change-repository.ts'
import { type UserView, viewUser } from '../users/user-view.ts'

type ChangeOwnUserDeps = HookedDeps &
  NewPasswordDeps &
  MessageAllowanceDeps & { readonly config: AuthConfig; readonly names: Names }

/** A user's changes of their own account. `undefined` members do not change. The phone is as typed. */
export interface OwnChanges extends OwnAddresses, UserChanges {
  readonly password: string | undefined
  readonly currentPassword: string | undefined
  readonly nonce: string | undefined
}

/**
 * Changes the caller's own account (reference: PUT /user). Checks all changes before anything is hashed or counted. Then one
 * transaction makes all changes or none, under the user's lock.
 */
export async function changeOwnUser(
  deps: ChangeOwnUserDeps,
  {
    caller,
    changes: typed,
    context,
  }: { readonly caller: TokenUser; readonly changes: OwnChanges; readonly context: RequestContext },
): Promise<Profile> {
  const changes = await readWantedPhone(deps, typed)
  const { password, nonce, currentPassword } = changes
  const found = await findCaller(deps, caller)
  if (changes.appMetadata && !isStillAdmin(deps, caller, found)) throw appMetadataForAdmins()
  await requireAllowed(deps, found, changes)
  const { ip } = context
  const prepared =
    password === undefined ? undefined : await preparePassword(deps, found, { password, nonce, currentPassword, ip })
  const allowance = await takeMessageAllowances(deps, found.user, changes, context.limitKey)
  try {
    const store = async (trx: Trx, repeatable: Repeatable<ChangeOwnUserDeps>) => {
      const active = await lockCaller(trx, repeatable, caller)
      // Check again: during hashing, the same session may have enrolled a factor or replaced the password.
      await requireAllowed({ ...repeatable, db: trx }, active, changes)
      if (prepared) requireShownPassword(prepared, active.user)
      await storeChanges(trx, repeatable, active, { changes, context, prepared })
      return getProfile(trx, caller.userId)
    }
    return await runHooked(deps, store, (work) => withUniqueIdentifiers(deps, refuseTaken, work))
  } catch (error) {
    await allowance.giveBack()
    throw error
  }
}

/**
 * Whether the caller is still an admin, because a session's token may have a role that the user has lost. This is not checked for
 * an operator's token, which has no session. It is also not checked if the hook CUSTOM_ACCESS_TOKEN may have set the role.
 */
function isStillAdmin(
  { config, hooks }: Pick<ChangeOwnUserDeps, 'config' | 'hooks'>,
  caller: TokenUser,
  { user }: ActiveCaller,
) {
  if (!caller.isAdmin || caller.sessionId === null || hooks.isOn('CUSTOM_ACCESS_TOKEN')) return caller.isAdmin
  return config.jwt.adminRoles.includes(user.role)
}

async function storeChanges(
  trx: Trx,
  deps: Repeatable<ChangeOwnUserDeps>,
  active: ActiveCaller,
  {
    changes,
    context,
    prepared,
  }: {
    readonly changes: OwnChanges
    readonly context: RequestContext
    readonly prepared: PreparedPassword | undefined
  },
): Promise<void> {
  const { user } = active
  const { userMetadata, appMetadata } = changes
  if (prepared) await changePassword(trx, deps, active, { prepared, ip: context.ip })
  const current = await updateUser(trx, user.id, {
    updated_at: deps.now(),
    ...changedColumns(deps.config, user, {
      ...changes,
      appMetadata: appMetadata && requireOwnConsoleRole(appMetadata, user.consoleRole),
    }),
  })
  await rememberChosen(trx, user.id, userMetadata)
  await changeOwnAddresses(trx, deps, current, { changes, context, sessionId: active.session?.id ?? null })
  await recordAudit(trx, deps, { action: 'user_modified', actor: user, ip: context.ip })
}

/**
 * Stores a new password. Ends all other sessions, all earlier messages, and flows that any session has started (reference: Change
 * of password).
 */
async function changePassword(
  trx: Trx,
  deps: Repeatable<ChangeOwnUserDeps>,
  { user, session }: ActiveCaller,
  { prepared, ip }: { readonly prepared: PreparedPassword; readonly ip: string },
): Promise<void> {
  const { hash, nonce } = prepared
  if (nonce) await consumeNonce(trx, nonce)
  await updateUser(trx, user.id, { ...passwordChange(deps.config, hash), updated_at: deps.now() })
  await deleteSessionsOfUser(trx, user.id, session?.id)
  await deleteTokensOfUser(trx, user.id)
  await callEndSessionWork(trx, user.id, { scope: 'all' })
  await notify(trx, deps, user, { name: 'PASSWORD_CHANGED', variables: {} })
  await recordAudit(trx, deps, { action: 'user_updated_password', actor: user, ip })
}

/** The order of the checks decides which error the client gets (reference: PUT /user). */
async function requireAllowed(
  deps: Pick<ChangeOwnUserDeps, 'config' | 'db' | 'now'>,
  caller: ActiveCaller,
  changes: OwnAddresses & Pick<OwnChanges, 'password' | 'nonce' | 'appMetadata'>,
): Promise<void> {
  const { user } = caller
  const [email, phone] = [findNewAddress(user, changes, 'email'), findNewAddress(user, changes, 'phone')]
  await requireGuardedChange(deps, caller, { ...changes, email, phone })
  if (user.isAnonymous && changes.password !== undefined && !changes.email && !changes.phone) throw anonymousPassword()
  await requireFreeAddresses(deps, user, { email, phone })
}

/**
 * Requires that the new addresses are free. Anybody may become an anonymous user, so such a user learns only about addresses that
 * would be applied immediately, as from POST /signup. Otherwise a taken address gets the same answer as a free one, but no
 * message.
 */
async function requireFreeAddresses(
  { config: { mail, sms }, db }: Pick<ChangeOwnUserDeps, 'config' | 'db'>,
  user: User,
  { email, phone }: { readonly email: string | undefined; readonly phone: string | undefined },
): Promise<void> {
  const [revealsEmail, revealsPhone] = [!user.isAnonymous || mail.autoconfirm, !user.isAnonymous || sms.autoconfirm]
  if (email !== undefined && revealsEmail) await requireNewIdentifier(db, user, { kind: 'email', value: email })
  if (phone !== undefined && revealsPhone) await requireNewIdentifier(db, user, { kind: 'phone', value: phone })
}

/**
 * Returns the caller's own record. A token of an ended session is accepted until it expires, unless
 * SESSIONS_ENFORCE_ON_ACCESS_TOKEN is set (reference: Live sessions). A ban takes effect immediately.
 */
export async function getOwnUser(
  deps: { readonly db: Db; readonly pools: Pools; readonly config: AuthConfig },
  {
    caller,
    audience,
  }: {
    readonly caller: TokenUser
    /** The audience in the request, or `undefined` if there is none. */
    readonly audience: string | undefined
  },
): Promise<UserView> {
  const { pools, config } = deps
  const sessionId = config.sessions.enforceOnAccessToken ? caller.sessionId : null
  const found = await findOwnUser(pools, { userId: caller.userId, sessionId })
  if (found === undefined) return refuseLostUser(deps, caller)
  if (found.isBanned) refuseBanned()
  requireSession(found.isSessionLive ? found : undefined)
  const wanted = callerAudience(caller, audience, config.jwt.audience)
  // The second condition refuses tokens for other services with the same secret.
  const isOurs = config.compatibility.acceptTokenAudience === 'any' || found.user.audience === wanted
  if (!caller.audiences.includes(wanted) || !isOurs) throw audienceMismatch()
  return viewUser(found, config.compatibility)
}
